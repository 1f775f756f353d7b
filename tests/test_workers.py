"""Several processes collect what one would, also when one of them dies; none is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest
from conftest import Countdown

from udrl.behavior import BehaviorFunction, make_behavior
from udrl.command import Command
from udrl.config import Config
from udrl.engines import GymnasiumEngine
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.errors import TrainingError, UserError
from udrl.randomness import Purpose
from udrl.rollout import Batch, Rollouts, parameters_of
from udrl.workers import Workers

CONFIG = Config(hidden_sizes=(8,))


class Deadly(Countdown):
    """Kills its process once: where the file is not there yet."""

    def __init__(self, file: Path) -> None:
        super().__init__(longest=40)
        self.file = file

    def step(self, action: int):  # type: ignore[no-untyped-def]
        if self.t == 3 and not self.file.exists():
            self.file.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Mortal(Countdown):
    def step(self, action: int):  # type: ignore[no-untyped-def]
        os._exit(3)


class Broken(Countdown):
    def step(self, action: int):  # type: ignore[no-untyped-def]
        raise RuntimeError("the motor broke")


def long_countdown() -> gym.Env:
    return Countdown(longest=40)


def make_rollouts() -> tuple[Rollouts, BehaviorFunction]:
    environments = Environments(GymnasiumEngine(long_countdown))
    behavior = make_behavior(environments.observations, environments.actions, CONFIG, jax.random.key(0))
    return Rollouts(environments, behavior), behavior


def batch(n: int, how: str = "sample", iteration: int = 1) -> Batch:
    command = Command(np.linspace(0, 900, n), np.linspace(1, 40, n))
    return Batch(how, command, 1, Purpose.EXPLORATION, iteration, range(n), "training")  # type: ignore[arg-type]


def assert_same(some: list[Episode], others: list[Episode]) -> None:
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        assert one.terminated == other.terminated


@pytest.fixture(scope="module")
def three_workers() -> Iterator[Workers]:
    workers = Workers(3).equip(CONFIG, make_rollouts()[1], long_countdown)
    yield workers
    workers.close()


@pytest.mark.parametrize(("n", "how"), [(20, "sample"), (20, "mode"), (7, "warm_up"), (2, "sample")])
def test_workers_collect_the_episodes_that_one_process_collects(three_workers: Workers, n: int, how: str) -> None:
    rollouts, behavior = make_rollouts()
    parameters = parameters_of(behavior)
    assert_same(three_workers.collect(parameters, batch(n, how)), rollouts.collect(parameters, batch(n, how)))


def test_parameters_go_over_with_every_batch(three_workers: Workers) -> None:
    rollouts, behavior = make_rollouts()
    for scale in (1.0, -3.0):
        parameters = [leaf * scale for leaf in parameters_of(behavior)]
        assert_same(three_workers.collect(parameters, batch(20)), rollouts.collect(parameters, batch(20)))


def test_a_worker_that_dies_is_replaced_and_nothing_changes(tmp_path: Path) -> None:
    rollouts, behavior = make_rollouts()
    file = tmp_path / "died"
    workers = Workers(2).equip(CONFIG, behavior, lambda: Deadly(file))
    collected = workers.collect(parameters_of(behavior), batch(20))
    workers.close()
    assert file.exists()
    assert_same(collected, rollouts.collect(parameters_of(behavior), batch(20)))


def test_a_batch_that_kills_every_worker_ends_the_run_with_a_sentence() -> None:
    workers = Workers(2).equip(CONFIG, make_rollouts()[1], Mortal)
    with pytest.raises(TrainingError, match="A worker died"):
        workers.collect(parameters_of(make_rollouts()[1]), batch(4))
    workers.close()


def test_an_error_of_the_environment_is_told_as_in_one_process() -> None:
    workers = Workers(2).equip(CONFIG, make_rollouts()[1], Broken)
    with pytest.raises(TrainingError, match=r"the motor broke.*environment seed"):
        workers.collect(parameters_of(make_rollouts()[1]), batch(4))
    workers.close()


def test_what_cannot_be_sent_is_refused_with_a_sentence() -> None:
    lock = __import__("threading").Lock()
    with pytest.raises(UserError, match="use --workers 1"):
        Workers(2).equip(CONFIG, make_rollouts()[1], lambda: lock and Countdown())


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(child) for child in found] + [grandchild for child in found for grandchild in children_of(int(child))]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    command = ["train", "cartpole", "--workers", "2", "--out", str(tmp_path / "run")]
    parent = subprocess.Popen(
        [sys.executable, "-m", "udrl.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size):
        assert parent.poll() is None
        time.sleep(0.05)
    children = children_of(parent.pid)
    assert len(children) >= 2
    parent.send_signal(number)
    parent.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, children))
