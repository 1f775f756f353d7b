"""Search over hyper-parameters on Ray Tune: a trial is a combination of values, tried with several seeds."""

import dataclasses
import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock

from udrl.errors import TrainingError, UserError
from udrl.experiments.definition import Run, resolve
from udrl.experiments.grids import Grid
from udrl.experiments.remote import MetricsReader, Root
from udrl.experiments.runner import Runner, state_of
from udrl.experiments.table import ExperimentTable, RunState

LAST_EVALUATIONS = 20
"""The paper's score is the mean over so many at the end of a run."""
TRIAL_FILE, BEST_FILE = "trial.json", "best.toml"
Sampler = Literal["random", "tpe", "gp", "qmc"]
EarlyStopping = Literal["none", "asha", "median"]
Indices = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Search:
    """What is searched for, and where its runs lie."""

    task: str
    algorithm: str
    grid: Grid
    trials: int
    seeds: int
    settings: dict[str, Any]
    """What all runs have in common besides the task's values."""
    folder: Path
    sampler: Sampler = "random"
    early_stopping: EarlyStopping = "none"
    seed: int = 0
    cores: int = 1

    def runs(self, indices: Indices) -> list[Run]:
        """One for each seed."""
        values = self.grid.settings(indices)
        variant = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]
        settings = {**self.settings, **values}
        return [Run(self.task, self.algorithm, variant, seed + 1, settings) for seed in range(self.seeds)]

    @property
    def env_steps(self) -> int:
        return resolve(Run(self.task, self.algorithm, None, 1, self.settings)).env_steps

    def trial_folder(self, indices: Indices) -> Path:
        return self.folder / self.runs(indices)[0].group


@dataclasses.dataclass(frozen=True)
class Record:
    """What is known of a trial."""

    indices: dict[str, int]
    values: dict[str, Any]
    score: float | None = None
    """None while it has not ended."""
    env_steps: int = 0
    seeds: int = 0


def score(evaluations: Sequence[Sequence[tuple[int, float]]], until: int | None = None) -> float:
    """The mean over seeds of the mean of the last 20 evaluations, up to the same multiple of the interval."""
    means = []
    for of_seed in evaluations:
        returns = [mean for at, mean in of_seed if until is None or at <= until]
        means.append(np.mean(returns[-LAST_EVALUATIONS:]))
    return float(np.mean(means))


def try_values(config: dict[str, Any], search: Search, root: Root, board: Any) -> None:
    """A trial, in a process that only waits: its runs are Ray's tasks, and go on from their checkpoints."""
    import ray
    from ray import tune

    indices = config.get("indices", config)
    states = [state_of(run, root.path) for run in search.runs(indices)]
    reported = 0

    def evaluations() -> list[tuple[tuple[int, float], ...]]:
        on_board = ray.get([board.progress.remote(state.run.name) for state in states])
        in_folder = [MetricsReader(root.path / state.run.name).read_on() for state in states]
        return [max(pair, key=lambda it: it.env_steps).evaluations for pair in zip(on_board, in_folder, strict=True)]

    def report() -> None:
        nonlocal reported
        of_seeds = evaluations()
        at = min(of_seed[-1][0] if of_seed else 0 for of_seed in of_seeds)
        if at > reported:
            reported = at
            tune.report({"score": score(of_seeds, at), "env_steps": at, "complete": False})

    search.trial_folder(indices).mkdir(parents=True, exist_ok=True)
    # A sampler may ask for the same values twice: the second trial waits, and finds everything done.
    with FileLock(search.trial_folder(indices) / "lock"):
        missing = [state for state in states if state.status != "done"]
        if missing:
            Runner(missing, root, search.cores, ExperimentTable("", states, quiet=True), board).go(report)
    if any(state.status == "failed" for state in states):
        raise TrainingError("A run failed; error.txt in its folder says why.")
    if all(state.status == "done" for state in states):
        tune.report({"score": score(evaluations()), "env_steps": search.env_steps, "complete": True})


def read_records(search: Search) -> list[Record]:
    """The trials of earlier calls, whose seeds were as many."""
    records = []
    for file in sorted(search.folder.glob(f"*/{TRIAL_FILE}")):
        try:
            record = Record(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            continue
        fits = set(record.indices) == set(search.grid.values) and search.trial_folder(record.indices) == file.parent
        if fits and record.seeds == search.seeds:
            records.append(record)
    return records


def write_record(search: Search, record: Record) -> None:
    from udrl.checkpoint import write_json

    folder = search.trial_folder(record.indices)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / TRIAL_FILE, dataclasses.asdict(record))


def best_of(records: Sequence[Record]) -> Record | None:
    """The highest score."""
    scored = [record for record in records if record.score is not None]
    return max(scored, key=lambda record: record.score or 0.0, default=None)


def write_best(search: Search, records: Sequence[Record]) -> Path:
    """The best values as a file for `udrl train --config`."""
    best = best_of(records)
    assert best is not None
    algorithm = "" if search.algorithm == "udrl" else f'algorithm = "{search.algorithm}"\n'
    n = sum(record.score is not None for record in records)
    lines = [
        f"# udrl train {search.task} --config {search.folder / BEST_FILE}",
        f"# The best of {n} trials by {search.seeds} seeds: score {best.score:.2f} after {best.env_steps:,} steps.",
    ]
    # JSON's numbers, strings and lists are TOML's.
    values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in best.values.items())
    path = search.folder / BEST_FILE
    path.write_text("\n".join(lines) + f"\n{algorithm}{values}")
    return path


class Watcher:
    """Keeps the records, and shows how far the search is."""

    def __init__(
        self, search: Search, records: Sequence[Record], states: Sequence[RunState], table: ExperimentTable
    ) -> None:
        self.search, self._table = search, table
        self.records = {search.trial_folder(record.indices).name: record for record in records}
        self._free, self._states = list(states), dict[str, RunState]()
        self.n_failed = 0
        for record in records:
            if record.score is not None:
                for run in search.runs(record.indices):
                    state = self._state(run.name)
                    state.status, state.env_steps = "done", state.budget

    @property
    def scored(self) -> list[Record]:
        return [record for record in self.records.values() if record.score is not None]

    @property
    def n_missing(self) -> int:
        return min(self.search.trials, self.search.grid.size) - len(self.scored)

    def begins(self, indices: dict[str, int]) -> None:
        record = Record(indices, self.search.grid.settings(indices), None, 0, self.search.seeds)
        if self.records.setdefault(self.search.trial_folder(indices).name, record) is record:
            write_record(self.search, record)

    def ends(self, indices: dict[str, int], result: dict[str, Any]) -> None:
        """A trial that is complete, or was stopped early."""
        record = Record(
            indices, self.search.grid.settings(indices), result["score"], result["env_steps"], self.search.seeds
        )
        self.records[self.search.trial_folder(indices).name] = record
        write_record(self.search, record)
        best = best_of(self.scored)
        assert best is not None
        write_best(self.search, self.scored)
        early = "" if result["complete"] else f", stopped early at {record.env_steps:,} steps"
        self._table.say(f"trial {len(self.scored)}: score {record.score:.2f}{early}; the best is {best.score:.2f}")
        for run in self.search.runs(indices):
            self._state(run.name).status = "done"

    def fails(self, indices: dict[str, int]) -> None:
        self.n_failed += 1
        self._table.say(f"a trial failed: error.txt in {self.search.trial_folder(indices)}/seed-* says why")
        for run in self.search.runs(indices):
            self._state(run.name).status = "failed"

    def look(self, reports: dict[str, tuple[int, float | None]]) -> None:
        for name, (env_steps, evaluation) in reports.items():
            state = self._state(name)
            if state.status in ("waiting", "running"):
                state.is_at(env_steps, evaluation)
                if env_steps >= state.budget:
                    state.status = "done"
        self._table.update()

    def _state(self, name: str) -> RunState:
        """Which runs there will be is not known before, only how many."""
        if name not in self._states:
            spare = RunState(self._free[-1].run if self._free else next(iter(self._states.values())).run, 0)
            self._states[name] = self._free.pop(0) if self._free else spare
        return self._states[name]


def check(search: Search) -> None:
    """Before anything begins: every value of the grid is one that the algorithm takes, and what is needed is there."""
    if search.trials < 1 or search.seeds < 1 or search.cores < 1:
        raise UserError("trials, seeds and cores must be at least 1.")
    first = dict.fromkeys(search.grid.values, 0)
    for name, choices in search.grid.values.items():
        for i in range(len(choices)):
            resolve(search.runs(first | {name: i})[0])
    needed = {"tpe": ["optuna"], "qmc": ["optuna"], "gp": ["optuna", "torch"], "random": []}[search.sampler]
    for module in needed:
        if importlib.util.find_spec(module) is None:
            extra = "pip install 'udrl[search]'" if module == "optuna" else f"pip install {module}"
            raise UserError(f"The sampler {search.sampler} needs an extra: {extra}.")
