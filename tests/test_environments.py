"""Copies of an environment: sparse reward, time limits, faults of environments, and how environments are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import Countdown

from udrl.config import Config
from udrl.engines import GymnasiumEngine, find_environment
from udrl.environments import Environments, make_environments
from udrl.errors import TrainingError, UserError

NOTHING = np.zeros((1, 1), np.int32)


class Faulty(Countdown):
    """Does `fault` at step `at` of the episodes with seed 8."""

    def __init__(self, fault: Callable[[], tuple[np.ndarray, float]], at: int) -> None:
        super().__init__(longest=100)
        self.fault, self.at = fault, at

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = super().reset(**options)
        if self.seed_of_episode == 8 and self.at == 0:
            observation, _ = self.fault()
        return observation, info

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        if self.seed_of_episode == 8 and self.t == self.at:
            observation, reward = self.fault()
        return observation, reward, terminated, truncated, info


def nan_observation() -> tuple[np.ndarray, float]:
    return np.array([np.nan, 0.0], np.float32), 0.0


def infinite_reward() -> tuple[np.ndarray, float]:
    return np.zeros(2, np.float32), np.inf


def broken_motor() -> tuple[np.ndarray, float]:
    raise RuntimeError("the motor broke")


def run_with(fault: Callable[[], tuple[np.ndarray, float]], at: int) -> None:
    environments = Environments(GymnasiumEngine(lambda: Faulty(fault, at)))
    environments.start([7, 8])
    for _ in range(at):
        environments.step(np.arange(2), np.zeros((2, 1), np.int32))


def rewards_of(environments: Environments, seed: int) -> list[float]:
    environments.start([seed])
    rewards = []
    while True:
        result = environments.step(np.array([0]), NOTHING)
        rewards.append(float(result.rewards[0]))
        if result.terminated[0] or result.truncated[0]:
            return rewards


def test_a_start_gives_each_copy_its_seed():
    observations = Environments(GymnasiumEngine(Countdown)).start([5, 3, 4])
    np.testing.assert_array_equal(observations, [[5, 0], [3, 0], [4, 0]])


def test_only_the_running_copies_are_stepped_each_with_its_action():
    environments = Environments(GymnasiumEngine(lambda: Countdown(longest=100)))
    environments.start([50, 60, 70])
    environments.step(np.array([2]), NOTHING)
    result = environments.step(np.array([0, 2]), np.array([[1], [2]], np.int32))
    np.testing.assert_array_equal(result.observations, [[50, 1], [70, 2]])
    np.testing.assert_array_equal(result.rewards, [11.0, 22.0])
    assert result.rewards.dtype == np.float64


def test_sparse_reward_is_the_whole_return_at_the_last_step():
    assert rewards_of(Environments(GymnasiumEngine(Countdown)), 3) == [10.0, 20.0, 30.0, 40.0]
    assert rewards_of(Environments(GymnasiumEngine(Countdown), sparse=True), 3) == [0.0, 0.0, 0.0, 100.0]


def test_sparse_reward_is_given_at_the_time_limit_too():
    assert rewards_of(Environments(GymnasiumEngine(Countdown), sparse=True, max_episode_steps=2), 3) == [0.0, 30.0]


def test_sparse_totals_do_not_leak_into_the_next_episode():
    environments = Environments(GymnasiumEngine(Countdown), sparse=True)
    assert rewards_of(environments, 3) == rewards_of(environments, 3)


def test_the_time_limit_truncates_and_does_not_terminate():
    environments = Environments(GymnasiumEngine(Countdown), max_episode_steps=2)
    environments.start([4])
    first, second = (environments.step(np.array([0]), NOTHING) for _ in range(2))
    assert (first.terminated[0], first.truncated[0]) == (False, False)
    assert (second.terminated[0], second.truncated[0]) == (False, True)


def test_an_end_within_the_time_limit_terminates():
    environments = Environments(GymnasiumEngine(Countdown), max_episode_steps=3)
    environments.start([0])
    result = environments.step(np.array([0]), NOTHING)
    assert (result.terminated[0], result.truncated[0]) == (True, False)


@pytest.mark.parametrize(("fault", "what"), [(nan_observation, "observation"), (infinite_reward, "reward")])
def test_numbers_that_are_not_finite_are_named_with_step_episode_and_seed(fault: Any, what: str):
    with pytest.raises(TrainingError, match=rf"{what}.*not finite.*step 2.*episode 1.*seed 8"):
        run_with(fault, at=2)


def test_a_first_observation_that_is_not_finite_is_refused():
    with pytest.raises(TrainingError, match=r"observation.*step 0.*seed 8"):
        run_with(nan_observation, at=0)


@pytest.mark.parametrize("at", [0, 3])
def test_an_error_of_the_environment_is_told_with_its_message_and_seed(at: int):
    with pytest.raises(TrainingError, match=r"RuntimeError.*the motor broke.*seed 8") as caught:
        run_with(broken_motor, at)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_observation_of_another_shape_is_told_with_its_seed():
    with pytest.raises(TrainingError, match="seed 8"):
        run_with(lambda: (np.zeros(3, np.float32), 0.0), at=1)


def test_closing_closes_every_copy():
    closed = []

    class Closing(Countdown):
        def close(self) -> None:
            closed.append(self)

    environments = Environments(GymnasiumEngine(Closing))
    environments.start([1, 2, 3])
    environments.close()
    assert len(set(closed)) == 3


def test_observations_of_several_parts_are_flattened():
    class Parts(Countdown):
        def __init__(self) -> None:
            super().__init__()
            plain = self.observation_space
            self.observation_space = gym.spaces.Dict({"a": plain, "b": gym.spaces.Discrete(2)})  # type: ignore[assignment]

        def observe(self) -> Any:
            return {"a": super().observe(), "b": self.t % 2}

    environments = Environments(GymnasiumEngine(Parts))
    np.testing.assert_array_equal(environments.start([9]), [[9, 0, 1, 0]])
    np.testing.assert_array_equal(environments.step(np.array([0]), NOTHING).observations, [[9, 1, 0, 1]])


def test_the_configuration_decides_sparse_reward_and_time_limit():
    environments = make_environments(Config(sparse=True, max_episode_steps=3), Countdown)
    assert rewards_of(environments, 4) == [0.0, 0.0, 60.0]


def test_a_gymnasium_name_makes_that_environment():
    environment = find_environment("CartPole-v1")()
    assert environment.spec is not None
    assert environment.spec.id == "CartPole-v1"
    environment.close()


@pytest.mark.parametrize(("typo", "right"), [("CartPoel-v1", "CartPole-v1"), ("Pendlum-v1", "Pendulum-v1")])
def test_an_unknown_name_is_answered_with_the_nearest(typo: str, right: str):
    with pytest.raises(UserError, match=rf"{typo}.*Did you mean.*{right}"):
        find_environment(typo)


def test_a_factory_is_found_by_module_and_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "homemade_world.py").write_text(
        "from conftest import Countdown\n\ndef make():\n    return Countdown(3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    environments = make_environments(Config(env_id="homemade_world:make"))
    assert rewards_of(environments, 2) == [10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    "env_id", ["no_such_module:make", "json:no_such_function", "json:__name__", ":make", "..json:loads"]
)
def test_a_factory_that_is_not_there_is_refused_by_name(env_id: str):
    with pytest.raises(UserError, match=env_id):
        find_environment(env_id)
