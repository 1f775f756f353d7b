"""End-to-end speed of training against the limit set by its parts measured alone; prints one JSON line.

    python benchmarks/throughput.py lunarlander --env-steps 500000

The limit is what the same iterations would take on one core if nothing were done but stepping the environments (the
very episodes of the run, evaluation included, replayed from their seeds and actions) and the compiled training phases.
Both are measured after each iteration of the run, so that a machine that is faster now and slower then, as shared ones
are, has the same share in both. The training phase is itself compared with a bare JAX loop of the same network, so that
a slow one cannot raise the ratio. Run it with nothing else on the machine.

With more than one core only the run is measured. It differs from one on one core in its last bits, so that it soon has
other episodes, longer or shorter: compare the time of an iteration's updates and of a step, as speeds.py does, rather
than steps per second.
"""

import dataclasses
import json
import resource
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import tyro

from udrl.config import RunOptions
from udrl.cores import limit_cores, own_cores
from udrl.tasks import find_task


@dataclasses.dataclass(frozen=True)
class Arguments:
    task: tyro.conf.Positional[str] = "lunarlander"
    """A task by name."""
    env_steps: int = 500_000
    """Length of the run."""
    updates: int | None = None
    """Updates per iteration other than the task's: those of a full TakeCover iteration take minutes on a CPU."""
    seed: int = 1
    engine: Literal["auto", "gymnasium", "envpool"] = "auto"
    threads: int = 1
    """Cores of the run."""


ARGUMENTS = tyro.cli(Arguments) if __name__ == "__main__" else Arguments()
limit_cores(ARGUMENTS.threads)

import jax
import numpy as np
from bare import bare_scan

from udrl.actions import Normal
from udrl.engines import find_environment
from udrl.episode import Episode
from udrl.learner import Learner, LearnerState
from udrl.rollout import Batch, Collector, Parameters, Rollouts, environment_seed
from udrl.run import Report, run
from udrl.segments import Examples, sample_examples
from udrl.training import Training

BARE_EVERY = 5
"""The bare loop is measured after every so many iterations."""


Recorded = tuple[Batch, list[np.ndarray]]
"""A batch of episodes, and the actions [T, k] of each."""

Plan = list[tuple[np.ndarray, Any]]
"""At each step which copies run, and what the engine is given for them."""


def record(collector: Collector) -> list[Recorded]:
    """What will be collected."""
    batches: list[Recorded] = []
    collect = collector.collect

    def recording_collect(parameters: Parameters, batch: Batch) -> list[Episode]:
        episodes = collect(parameters, batch)
        batches.append((batch, [episode.actions for episode in episodes]))
        return episodes

    collector.collect = recording_collect
    return batches


class Limit:
    """The parts of a run alone, on one core, measured in the pauses between its iterations."""

    def __init__(self, training: Training, batches: list[Recorded]) -> None:
        self._training, self._batches = training, batches
        another = Training(training.config)
        assert isinstance(another.collector, Rollouts)
        self._most_copies = another.collector.environments.most_copies
        # A training phase's examples, from warm-up episodes, or as many of them as fit into memory.
        examples = next(sample_examples(another.start()[0].replay, training.config, np.random.default_rng(0)))
        another.close()
        self._updates = len(examples.actions)
        n_outputs, is_normal = training.distribution.n_outputs, isinstance(training.distribution, Normal)
        self._scan = training_scan(training, examples)
        # XLA's own convolutions take seconds an update in a loop on a CPU.
        self._bare_updates = 2 if examples.observations.ndim > 3 else self._updates
        few = Examples(*(field[: self._bare_updates] for field in examples))
        self._bare_scan = bare_scan(training.config, n_outputs, is_normal, few)
        self._engine = (RawEnvPool if training.config.engine == "envpool" else RawGymnasium)(training.config.env_id)
        self.raw_seconds, self.pauses, self._replayed = 0.0, 0.0, 0
        self.scans: list[float] = []
        self.bare_scans: list[float] = []
        for work in (self._scan, self._bare_scan):
            work()  # the first call compiles

    def pause(self) -> None:
        """Do again, alone, what the run has done since the last pause."""
        began = time.perf_counter()
        self.scans.append(seconds_of(self._scan))
        if len(self.scans) % BARE_EVERY == 1:
            self.bare_scans.append(seconds_of(self._bare_scan))
        self.replay()
        self.pauses += time.perf_counter() - began

    def replay(self) -> None:
        """The same episodes in the bare engine, its actions ready made."""
        for batch, actions in self._batches[self._replayed :]:
            for first in range(0, len(actions), self._most_copies):
                part = batch.part(first, first + self._most_copies)
                seeds = [environment_seed(rng, part.environment_seeds) for rng in part.generators()]
                self.raw_seconds += self._engine.seconds(seeds, self._plan(actions[first : first + self._most_copies]))
        self._replayed = len(self._batches)

    def _plan(self, actions: list[np.ndarray]) -> Plan:
        lengths = np.array([len(some) for some in actions])
        running = [np.flatnonzero(lengths > t) for t in range(lengths.max())]
        together = [np.stack([actions[i][t] for i in some]) for t, some in enumerate(running)]
        return self._engine.plan(self._training, running, together)

    def measured(self, iterations: int, steps: int, seconds: float) -> dict[str, Any]:
        phases = self._training.config.n_updates_per_iter / self._updates
        update = statistics.median(self.scans) / self._updates
        bare_update = statistics.median(self.bare_scans) / self._bare_updates
        scan_seconds = iterations * phases * statistics.mean(self.scans)
        limit = self.raw_seconds + scan_seconds
        return {
            "limit_all_steps_per_second": round(steps / limit),
            "ratio": round(limit / seconds, 3),
            "raw_steps_per_second": round(steps / self.raw_seconds),
            "update_ms": round(update * 1e3, 4),
            "bare_update_ms": round(bare_update * 1e3, 4),
            "scan_over_bare": round(update / bare_update, 3),
        }


class RawGymnasium:
    def __init__(self, env_id: str) -> None:
        self._make = find_environment(env_id)
        self._copies: list[Any] = []

    def plan(self, training: Training, running: list[np.ndarray], actions: list[np.ndarray]) -> Plan:
        return [(r.tolist(), training.actions.decode(a)) for r, a in zip(running, actions, strict=True)]  # type: ignore

    def seconds(self, seeds: Sequence[int], plan: Plan) -> float:
        self._copies += [self._make() for _ in range(len(seeds) - len(self._copies))]
        began = time.perf_counter()
        for copy, seed in zip(self._copies, seeds, strict=False):
            copy.reset(seed=seed)
        for running, actions in plan:
            for i, action in zip(running, actions, strict=True):
                self._copies[i].step(action)
        return time.perf_counter() - began


class RawEnvPool:
    def __init__(self, env_id: str) -> None:
        self._env_id = env_id

    def plan(self, training: Training, running: list[np.ndarray], actions: list[np.ndarray]) -> Plan:
        dtype = np.int32 if training.actions.is_discrete else np.float64
        decoded = [np.asarray(training.actions.decode(a), dtype) for a in actions]
        return [(r.astype(np.int32), a) for r, a in zip(running, decoded, strict=True)]

    def seconds(self, seeds: Sequence[int], plan: Plan) -> float:
        import envpool

        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool = envpool.make(
                self._env_id, env_type="gymnasium", num_envs=len(seeds), env_seed=list(seeds), num_threads=1
            )
        pool.reset()
        for running, actions in plan:
            pool.step(actions, running)
        seconds = time.perf_counter() - began
        pool.close()
        return seconds


def seconds_of(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - began


def training_scan(training: Training, examples: Examples) -> Callable[[], LearnerState]:
    """One training phase of ours."""
    learner = Learner(training.learner.behavior(training.learner.initial_state()), training.config.learning_rate)
    state = learner.initial_state()

    def phase() -> LearnerState:
        nonlocal state
        state, _ = learner.train(state, examples)
        return state

    return phase


def measure(arguments: Arguments) -> dict[str, Any]:
    """One run, and its parts alone."""
    task = find_task(arguments.task)
    config = dataclasses.replace(task.config, seed=arguments.seed, engine=arguments.engine)
    if arguments.updates is not None:
        config = dataclasses.replace(config, n_updates_per_iter=arguments.updates)
    training = Training(config, task=task.name, n_workers=arguments.threads)
    batches = record(training.collector)
    limit = Limit(training, batches) if arguments.threads == 1 else None
    reports: list[Report] = []

    def after_iteration(report: Report) -> None:
        reports.append(report)
        if limit is not None:
            limit.pause()

    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(env_steps=arguments.env_steps, out=Path(folder) / "run")
        began = time.perf_counter()
        run(training, options, after_iteration, quiet=True)
        seconds = time.perf_counter() - began - (0.0 if limit is None else limit.pauses)
    all_steps = sum(len(actions) for _, episodes in batches for actions in episodes)
    measured = {
        "task": task.name,
        "engine": training.config.engine,
        "threads": arguments.threads,
        "env_steps": reports[-1].env_steps,
        "all_steps": all_steps,
        "iterations": len(reports),
        "seconds": round(seconds, 2),
        "env_steps_per_second": round(reports[-1].env_steps / seconds),
        "all_steps_per_second": round(all_steps / seconds),
        "seconds_by_part": seconds_by_part(reports, seconds),
        "improve_seconds_first_and_last_tenth": first_and_last_tenth(reports),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if limit is None:
        return measured
    limit.replay()  # of the last evaluation
    return measured | limit.measured(len(reports), all_steps, seconds)


def seconds_by_part(reports: list[Report], seconds: float) -> dict[str, float]:
    """Where the time went; the rest is warm-up, checkpoints, metrics and the final evaluation."""
    parts = {
        part: round(sum(report.metrics.get(f"time/{part}", 0.0) for report in reports), 2)
        for part in ("improve", "explore", "evaluate")
    }
    return parts | {"rest": round(seconds - sum(parts.values()), 2)}


def first_and_last_tenth(reports: list[Report]) -> list[float]:
    """Median time of a training phase, sampling included: it must not grow as the replay fills."""
    times = [report.metrics["time/improve"] for report in reports]
    tenth = max(len(times) // 10, 1)
    return [round(statistics.median(part), 4) for part in (times[1 : tenth + 1] or times, times[-tenth:])]


if __name__ == "__main__":
    with own_cores(ARGUMENTS.threads):
        print(json.dumps(measure(ARGUMENTS)))
