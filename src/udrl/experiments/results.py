"""What runs achieved: their evaluations, read from run folders, and grouped by task, algorithm and what differs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from udrl.config import Config
from udrl.errors import UserError
from udrl.run_folder import CONFIG, METRICS, find_runs, read_json, read_metrics, run_status
from udrl.tasks import TASKS


class Evaluation(NamedTuple):
    """One evaluation of a run. What an algorithm does not have, or a file does not say, is NaN."""

    env_steps: int
    eval_at: int
    """The multiple of the interval that it was for: what the curves of different seeds line up on."""
    return_mean: float
    return_std: float
    desired_return: float
    desired_horizon: float
    seconds: float
    """What the run had taken by then."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One seed."""

    task: str
    algorithm: str
    variant: str
    """The hyper-parameters that differ from the usual ones of the task, or nothing."""
    seed: int
    evaluations: tuple[Evaluation, ...]
    state: str = ""
    """As `udrl runs` has it; nothing where only the evaluations are known."""
    budget: int | None = None
    flags: str = ""
    """What `udrl train` was told about it besides its task, seed and budget, as far as its folder says."""

    @property
    def returns(self) -> np.ndarray:  # [n]
        return np.array([evaluation.return_mean for evaluation in self.evaluations])

    @property
    def env_steps(self) -> int:
        return self.evaluations[-1].env_steps if self.evaluations else 0

    @property
    def seconds(self) -> float:
        return self.evaluations[-1].seconds if self.evaluations else np.nan


@dataclasses.dataclass(frozen=True)
class Group:
    """The seeds of one algorithm with one setting on one task."""

    task: str
    algorithm: str
    variant: str
    runs: tuple[Run, ...]

    @property
    def label(self) -> str:
        return f"{self.algorithm}, {self.variant}" if self.variant else self.algorithm

    @property
    def evaluated(self) -> tuple[Run, ...]:
        """The runs that have been evaluated at least once."""
        return tuple(run for run in self.runs if run.evaluations)


NO_HYPERPARAMETERS = {"udrl", "task", "algorithm", "env_id", "sparse", "seed", "engine", "environment", "versions"}
"""Of a configuration: what a run is about, what it was made with, or what changes nothing that could be compared."""


def read_runs(folders: Iterable[Path], notes: list[str]) -> list[Run]:
    """The runs in folders, at any depth; a sentence in `notes` about each that cannot be read."""
    configs: dict[Path, dict[str, Any]] = {}
    for path in folders:
        try:
            config = read_json(path / CONFIG)
            int(config["seed"])
            str(config["env_id"])
        except (UserError, KeyError, TypeError, ValueError):
            notes.append(f"{path} was left out: its {CONFIG} is damaged.")
            continue
        configs[path] = config
    variants = name_variants(configs)
    return [_read_run(path, config, variants[path], notes) for path, config in configs.items()]


def _read_run(path: Path, config: dict[str, Any], variant: str, notes: list[str]) -> Run:
    n_lines = (path / METRICS).read_bytes().count(b"\n")  # first: more may be written meanwhile
    lines = list(read_metrics(path))
    if len(lines) < n_lines:
        notes.append(f"{path}: a line of its {METRICS} is damaged; what comes after it was left out.")
    try:
        status: dict[str, Any] = run_status(path)
    except (KeyError, TypeError):  # an evaluation without its numbers
        status = {"status": "damaged"}
    budget = status.get("budget")
    kept = evaluations_of([line for line in lines if line.get("kind") == "evaluation"], budget)
    seed, state = int(config["seed"]), status.get("status", "damaged")
    return Run(task_of(config), algorithm_of(config), variant, seed, kept, state, budget, flags_of(config))


def evaluations_of(lines: Sequence[dict[str, Any]], budget: int | None = None) -> tuple[Evaluation, ...]:
    """The first evaluation for each multiple of the interval.

    A budget that is no multiple brings another one at the end, for a multiple that has had its own. A run that is only
    evaluated at its end has that for its budget.
    """
    found: dict[int, Evaluation] = {}
    for line in lines:
        try:
            at, mean = int(line["eval/at"]), float(line["eval/return_mean"])
            at = at or budget or int(line["env_steps"])
            rest = [float(line.get(name, np.nan)) for name in _OPTIONAL]
            if np.isfinite(mean):
                found.setdefault(at, Evaluation(int(line["env_steps"]), at, mean, *rest))
        except (KeyError, TypeError, ValueError):
            continue
    return tuple(found[at] for at in sorted(found))


_OPTIONAL = ("eval/return_std", "eval/desired_return", "eval/desired_horizon", "time/total")


def task_of(config: dict[str, Any]) -> str:
    """The task's name, or the environment's."""
    return config.get("task") or config["env_id"] + (", sparse" if config.get("sparse") else "")


def algorithm_of(config: dict[str, Any]) -> str:
    return config.get("algorithm") or "udrl"


def name_variants(configs: dict[Path, dict[str, Any]]) -> dict[Path, str]:
    """For each run, how its hyper-parameters differ from the usual ones, among the runs of its task and algorithm.

    A setting that all of them share is the usual one.
    """
    kinds: dict[tuple[str, str], list[Path]] = {}
    for path, config in configs.items():
        kinds.setdefault((task_of(config), algorithm_of(config)), []).append(path)
    variants: dict[Path, str] = {}
    for (task, algorithm), paths in kinds.items():
        usual = _usual([configs[path] for path in paths], task if algorithm == "udrl" else "")
        for path in paths:
            config = configs[path]
            names = sorted((usual.keys() | config.keys()) - NO_HYPERPARAMETERS)
            differing = [name for name in names if config.get(name) != usual.get(name)]
            variants[path] = ", ".join(describe(name, config.get(name)) for name in differing)
    return variants


def _usual(configs: list[dict[str, Any]], task: str) -> dict[str, Any]:
    """The task's own values where some run has them, else what most runs have."""
    own = own_values(task)
    usual: dict[str, Any] = {}
    for name in {name for config in configs for name in config}:
        values = Counter(json.dumps(config.get(name)) for config in configs)
        own_value = json.dumps(own.get(name))
        usual[name] = json.loads(own_value if own_value in values else values.most_common(1)[0][0])
    return usual


def describe(name: str, value: Any) -> str:
    """A setting in a few words: a choice by itself, a switch by its name, a number with its name."""
    if isinstance(value, str):
        return value if len(value) <= 40 else f"{value[:37]}..."
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    if isinstance(value, list):
        value = "-".join(map(str, value))
    return f"{words} {value:g}" if isinstance(value, float) else f"{words} {value}"


def flags_of(config: dict[str, Any]) -> str:
    """The flags of a run of ours whose settings are not the task's own; other algorithms have other settings."""
    flags = [] if config.get("task") else [f"--env-id {config['env_id']}"]
    if algorithm_of(config) != "udrl":
        return " ".join([*flags, f"--algorithm {algorithm_of(config)}"])
    own = own_values(config.get("task") or "") or json.loads(json.dumps(dataclasses.asdict(Config())))
    for name in sorted(own.keys() & config.keys() - NO_HYPERPARAMETERS | {"sparse"} & config.keys()):
        value = config[name]
        if value != own[name]:
            flag = name.replace("_", "-")
            words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            flags.append(f"--{flag if value else f'no-{flag}'}" if isinstance(value, bool) else f"--{flag} {words}")
    return " ".join(flags)


def own_values(task: str) -> dict[str, Any]:
    """A task's own values, as a file has them; nothing for one without a name."""
    return json.loads(json.dumps(dataclasses.asdict(TASKS[task].config))) if task in TASKS else {}


def group_runs(runs: Iterable[Run], notes: list[str]) -> list[Group]:
    """By task (known ones first, in their order), then algorithm (ours first), then setting. A seed counts once."""
    kinds: dict[tuple[str, str, str], dict[int, Run]] = {}
    for run in runs:
        seeds = kinds.setdefault((run.task, run.algorithm, run.variant), {})
        other = seeds.get(run.seed)
        if other is not None:
            label = f"{run.algorithm}, {run.variant}" if run.variant else run.algorithm
            notes.append(f"{run.task}, {label}: seed {run.seed} is there more than once; the longest counts.")
        if other is None or len(run.evaluations) > len(other.evaluations):
            seeds[run.seed] = run
    order = list(TASKS)
    place = {name: (order.index(name) if name in order else len(order), name) for name, _, _ in kinds}
    keys = sorted(kinds, key=lambda key: (place[key[0]], key[1] != "udrl", key[1], key[2]))
    return [Group(*key, tuple(kinds[key][seed] for seed in sorted(kinds[key]))) for key in keys]


def runs_below(paths: Iterable[Path]) -> list[Path]:
    """The run folders in folders, each once."""
    return list(dict.fromkeys(run.resolve() for path in paths if path.is_dir() for run in find_runs(path)))
