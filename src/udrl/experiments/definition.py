"""What an experiment is: a small TOML file that says which runs there are."""

import dataclasses
import difflib
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from udrl.api import ALGORITHMS, resolve_baseline, resolve_settings
from udrl.baselines import BASELINES
from udrl.config import Config, RunOptions
from udrl.errors import UserError, nearest

SELECTION = ("tasks", "algorithms", "variants", "seeds")
"""The keys that say which runs there are: all their combinations. Any other key of a table is a setting."""
SECTIONS = ("task", "algorithm", "variant")
NOT_HERE = {"seed": "use seeds", "out": "use --out", "threads": "use --cores", "quiet": "runs are"}
"""Settings that are decided elsewhere."""

Table = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of `udrl.train`."""

    task: str
    algorithm: str
    variant: str | None
    seed: int
    settings: dict[str, Any]
    """What differs from the task's values."""

    @property
    def group(self) -> str:
        """What it has in common with the runs of other seeds."""
        return "-".join([self.task, self.algorithm, *([self.variant] if self.variant else [])])

    @property
    def name(self) -> str:
        """Of its folder, in the experiment's."""
        return f"{self.group}/seed-{self.seed}"

    @property
    def arguments(self) -> dict[str, Any]:
        """What `udrl.train` is called with."""
        task = {} if "env_id" in self.settings else {"task": self.task}
        algorithm = {} if self.algorithm == "udrl" else {"algorithm": self.algorithm}
        return {**task, **algorithm, "seed": self.seed, **self.settings}


@dataclasses.dataclass(frozen=True)
class Resolved:
    """What a run comes to."""

    identity: dict[str, Any]
    """Everything that changes what is learned, as far as it is known before the run."""
    env_steps: int
    stop_when_solved: bool


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Runs under one name."""

    name: str
    runs: tuple[Run, ...]


def load_experiment(path: Path) -> Experiment:
    """The experiment that a file defines; every mistake in it is a sentence, and nothing has begun."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # not TOML, or not even text
        raise UserError(f"{path} is not valid TOML: {error}.") from None
    try:
        experiment = Experiment(str(document.pop("name", path.stem)), tuple(expand(document)))
        identities = [resolve(run).identity for run in experiment.runs]
        for algorithm, env_id in dict.fromkeys((it["algorithm"], it["env_id"]) for it in identities):
            _check_fit(algorithm, env_id)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return experiment


def expand(document: Table) -> Iterator[Run]:
    """Every combination, group by group, in the order of the file; seeds change first."""
    top = {name: value for name, value in document.items() if name not in ("runs", *SECTIONS)}
    groups = document.get("runs", [{}])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise UserError("runs must be written as [[runs]], once for each group.")
    sections = {kind: _sections(document, kind) for kind in SECTIONS}
    runs: dict[str, Run] = {}
    used: set[tuple[str, str]] = set()
    for group in groups:
        for table in (top, group):
            _check_keys(table)
        for run in _combinations(top, group, sections):
            if run.name in runs:
                raise UserError(f"Two groups have the run {run.name}: tell them apart by a variant.")
            runs[run.name] = run
            used |= {("task", run.task), ("algorithm", run.algorithm), ("variant", run.variant or "")}
            yield run
    for kind, tables in sections.items():
        for name in tables:
            if (kind, name) not in used:
                hint = nearest(name, [of_kind for a_kind, of_kind in used if a_kind == kind])
                raise UserError(
                    f"[{kind}.{name}] belongs to no run: name it in {SELECTION[SECTIONS.index(kind)]}.{hint}"
                )


def resolve(run: Run) -> Resolved:
    """All of a run's values; a mistake in them is a sentence."""
    settings = {**run.settings, "seed": run.seed}
    task = None if "env_id" in settings else run.task
    try:
        if run.algorithm == "udrl":
            config, options = resolve_settings(task, settings, bool(settings.pop("paper_text", False)))
        else:
            config, options = resolve_baseline(run.algorithm, task, settings)
    except UserError as error:
        raise UserError(f"{run.group}: {error}") from None
    identity = {"algorithm": run.algorithm, **dataclasses.asdict(config)}
    return Resolved(identity, options.env_steps, options.stop_when_solved)


def _check_fit(algorithm: str, env_id: str) -> None:
    """Refuse an algorithm that cannot act in an environment."""
    kinds = {"dqn": ("discrete", "Discrete"), "ddpg": ("continuous", "Box")}
    if algorithm not in kinds:
        return
    from udrl.engines import find_environment

    try:
        environment = find_environment(env_id)()
    except UserError:  # the machines of a cluster may have what is missing on this one
        return
    kind = type(environment.action_space).__name__
    environment.close()
    if kind != kinds[algorithm][1]:
        raise UserError(f"{algorithm} is for {kinds[algorithm][0]} actions, and those of {env_id} are a {kind}.")


def _combinations(top: Table, group: Table, sections: Mapping[str, Mapping[str, Table]]) -> Iterator[Run]:
    both = {**top, **group}
    tasks = _names(both, "tasks")
    algorithms = _names(both, "algorithms", ["udrl"])
    variants = _names(both, "variants", [])
    if not tasks:
        raise UserError("Say what to train on: tasks = ['lunarlander'], for instance (`udrl tasks` lists them).")
    for algorithm in algorithms:
        if algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise UserError(f"There is no algorithm '{algorithm}'.{nearest(algorithm, ALGORITHMS)} There are {known}.")
    for variant in variants:
        if variant not in sections["variant"]:
            hint = nearest(variant, sections["variant"])
            raise UserError(f"There is no variant '{variant}': write its settings under [variant.{variant}].{hint}")
    seeds = parse_seeds(both.get("seeds", 1))
    for task, algorithm, variant, seed in itertools.product(tasks, algorithms, variants or [None], seeds):
        # From the general to the particular; the later wins.
        layers = (
            _settings(top),
            sections["algorithm"].get(algorithm, {}),
            sections["task"].get(task, {}),
            _settings(group),
            sections["variant"].get(variant or "", {}),
        )
        settings: dict[str, Any] = {name: value for layer in layers for name, value in layer.items()}
        yield Run(task, algorithm, variant, seed, settings)


def parse_seeds(written: Any) -> list[int]:
    """Seeds as a person writes them: 3, [1, 2, 5], "1-20" or "1-5, 9"."""
    parts = written if isinstance(written, list) else str(written).split(",")
    seeds: list[int] = []
    for part in parts:
        first, _, last = str(part).strip().partition("-")
        if isinstance(part, bool) or not first.isdecimal() or not (last or first).isdecimal():
            raise UserError(f"seeds must be like 3, [1, 2, 5] or '1-20', not {written!r}.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UserError(f"seeds must name at least one seed, and none twice, not {written!r}.")
    return seeds


def _names(table: Table, key: str, default: list[str] | None = None) -> list[str]:
    """A list of names, each of which can be part of a folder's name."""
    names = table.get(key, default or [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{key} must be a list of names, not {names!r}.")
    for name in names:
        if not name or name.startswith(".") or set(name) & set("/\\\0"):
            raise UserError(f"'{name}' in {key} cannot be part of a folder's name.")
    if len(set(names)) < len(names):
        raise UserError(f"{key} names something twice.")
    return names


def _settings(table: Table) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in SELECTION}


def _sections(document: Table, kind: str) -> dict[str, Table]:
    """The tables [kind.NAME]."""
    sections = document.get(kind, {})
    if not isinstance(sections, dict) or not all(isinstance(table, dict) for table in sections.values()):
        raise UserError(f"{kind} must be written as [{kind}.NAME].")
    for name, table in sections.items():
        for key in table:
            if key in SELECTION or key in NOT_HERE:
                raise UserError(f"{key} does not belong into [{kind}.{name}].")
    return sections


def _check_keys(table: Table) -> None:
    """A misspelt key looks like a setting, and is answered with the nearest key."""
    settings = {field.name for kind in (Config, RunOptions, *BASELINES.values()) for field in fields(kind)}
    for name, value in table.items():
        if name in NOT_HERE:
            raise UserError(f"{name} is not set here: {NOT_HERE[name]}.")
        if isinstance(value, dict | list) and name not in settings | set(SELECTION):
            raise UserError(
                f"There is no key '{name}'.{nearest(name, [*SELECTION, *SECTIONS, 'runs', 'name', *settings])}"
            )
        if name not in settings and name not in SELECTION and difflib.get_close_matches(name, SELECTION, cutoff=0.7):
            raise UserError(f"There is no key '{name}'.{nearest(name, SELECTION)}")
