"""End-to-end speed of training against the limit set by its parts measured alone; prints one JSON line.

    python benchmarks/throughput.py lunarlander --env-steps 500000

The limit is what the same iterations would take on one core if nothing were done but stepping the environments (the
very episodes of the run, evaluation included, replayed from their seeds and actions) and the compiled training phases.
Both are measured after each iteration of the run, so that a machine that is faster now and slower then, as shared ones
are, has the same share in both. The training phase is itself compared with a bare JAX loop of the same network, so that
a slow one cannot raise the ratio. Run it with nothing else on the machine.

A run on two cores comes above the limit of one: its ratio over that of a run on one core says what the second one gave.
(Steps per second do not: results differ in their last bits, so one run soon has longer episodes than the other.)
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
from udrl.cores import limit_cores, own_cores, take_core
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

REPEATS = 7


Recorded = tuple[Batch, list[np.ndarray]]
"""A batch of episodes, and the actions [T, k] of each."""


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


def raw_stepping(training: Training, batches: list[Recorded], most_copies: int) -> tuple[float, int]:
    """Seconds and steps of the same episodes in the bare engine, its actions ready made."""
    seeds: list[Sequence[int]] = []
    plans: Plans = []
    for batch, actions in batches:
        for first in range(0, len(actions), most_copies):
            part = batch.part(first, first + most_copies)
            seeds.append([environment_seed(rng, part.environment_seeds) for rng in part.generators()])
            plans.append(plan(training, actions[first : first + most_copies]))
    replay = raw_envpool if training.config.engine == "envpool" else raw_gymnasium
    return replay(training.config.env_id, seeds, plans), sum(len(a) for _, actions in batches for a in actions)


def plan(training: Training, actions: list[np.ndarray]) -> list[tuple[np.ndarray, Any]]:
    """At each step which copies run, and what the engine is given for them."""
    lengths = np.array([len(some) for some in actions])
    steps = []
    for t in range(lengths.max()):
        running = np.flatnonzero(lengths > t).astype(np.int32)
        decoded: Any = training.actions.decode(np.stack([actions[i][t] for i in running]))
        if training.config.engine == "envpool":
            decoded = np.asarray(decoded, np.int32 if training.actions.is_discrete else np.float64)
        steps.append((running, decoded))
    return steps


Plans = list[list[tuple[np.ndarray, Any]]]


def raw_gymnasium(env_id: str, seeds: list[Sequence[int]], plans: Plans) -> float:
    make = find_environment(env_id)
    copies = [make() for _ in range(max(map(len, seeds)))]
    seconds = 0.0
    for batch_seeds, steps in zip(seeds, plans, strict=True):
        plan = [(running.tolist(), actions) for running, actions in steps]
        began = time.perf_counter()
        for copy, seed in zip(copies, batch_seeds, strict=False):
            copy.reset(seed=seed)
        for running, actions in plan:
            for i, action in zip(running, actions, strict=True):
                copies[i].step(action)
        seconds += time.perf_counter() - began
    return seconds


def raw_envpool(env_id: str, seeds: list[Sequence[int]], plans: Plans) -> float:
    import envpool

    seconds = 0.0
    for batch_seeds, plan in zip(seeds, plans, strict=True):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool = envpool.make(
                env_id, env_type="gymnasium", num_envs=len(batch_seeds), env_seed=list(batch_seeds), num_threads=1
            )
        pool.reset()
        for running, actions in plan:
            pool.step(actions, running)
        seconds += time.perf_counter() - began
        pool.close()
    return seconds


def median_seconds(work: Callable[[], Any]) -> float:
    """Of several calls, after one that compiles."""
    jax.block_until_ready(work())
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - began)
    return statistics.median(times)


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
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(env_steps=arguments.env_steps, out=Path(folder) / "run")
        began = time.perf_counter()
        run(training, options, reports.append, quiet=True)
        seconds = time.perf_counter() - began
    return {
        "task": task.name,
        "engine": training.config.engine,
        "threads": arguments.threads,
        "env_steps": reports[-1].env_steps,
        "seconds": round(seconds, 2),
        "env_steps_per_second": round(reports[-1].env_steps / seconds),
        "seconds_by_part": seconds_by_part(reports, seconds),
        "improve_seconds_first_and_last_tenth": first_and_last_tenth(reports),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    } | limits(training, batches, len(reports), seconds)


def limits(training: Training, batches: list[Recorded], iterations: int, seconds: float) -> dict[str, Any]:
    """The parts of a run alone, on one core, and how near the run came to them."""
    take_core(0, ARGUMENTS.threads)
    examples, most_copies = example_phase(training)
    raw_seconds, all_steps = raw_stepping(training, batches, most_copies)
    distribution, updates = training.distribution, len(examples.actions)
    bare_phase = bare_scan(training.config, distribution.n_outputs, isinstance(distribution, Normal), examples)
    scan, bare = median_seconds(training_scan(training, examples)), median_seconds(bare_phase)
    limit_seconds = raw_seconds + iterations * training.config.n_updates_per_iter / updates * scan
    return {
        "all_steps": all_steps,
        "all_steps_per_second": round(all_steps / seconds),
        "limit_all_steps_per_second": round(all_steps / limit_seconds),
        "ratio": round(limit_seconds / seconds, 3),
        "raw_steps_per_second": round(all_steps / raw_seconds),
        "update_ms": round(scan / updates * 1e3, 4),
        "bare_update_ms": round(bare / updates * 1e3, 4),
        "scan_over_bare": round(scan / bare, 3),
    }


def example_phase(training: Training) -> tuple[Examples, int]:
    """A training phase's examples, from warm-up episodes, or as many of them as fit into memory; and how many copies
    of the environment step together."""
    another = Training(training.config)  # the run has closed its environments
    assert isinstance(another.collector, Rollouts)
    try:
        examples = next(sample_examples(another.start()[0].replay, training.config, np.random.default_rng(0)))
        return examples, another.collector.environments.most_copies
    finally:
        another.close()


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
    return [round(statistics.median(part), 4) for part in (times[1 : tenth + 1], times[-tenth:])]


if __name__ == "__main__":
    with own_cores(ARGUMENTS.threads):
        print(json.dumps(measure(ARGUMENTS)))
