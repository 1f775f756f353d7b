"""Both engines have the same tasks: spaces, limits, rewards, starts, lengths and returns."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import Countdown
from scipy.stats import ks_2samp

from udrl.actions import distribution_for
from udrl.command import Command
from udrl.engines import SAME_IN_ENVPOOL, Engine, EnvPoolEngine, GymnasiumEngine, choose_engine, find_environment
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.errors import UserError
from udrl.rollout import collect_episodes, warm_up_act

envpool = pytest.importorskip("envpool", reason="needs udrl[envpool]")
pytest.importorskip("mujoco", reason="needs udrl[mujoco]")

pytestmark = [
    pytest.mark.parametrize("env_id", SAME_IN_ENVPOOL),
    pytest.mark.filterwarnings("ignore:.*precision lowered:UserWarning"),
]

ENGINES: list[Callable[[str], Engine]] = [lambda env_id: GymnasiumEngine(find_environment(env_id)), EnvPoolEngine]


def random_episodes(engine: Engine, seeds: list[int], max_episode_steps: int | None = None) -> list[Episode]:
    """Episodes under one fixed policy: uniform actions."""
    environments = Environments(engine, max_episode_steps=max_episode_steps)
    distribution = distribution_for(engine.actions)
    randomness = [np.random.default_rng(seed) for seed in seeds]
    episodes = collect_episodes(
        environments, warm_up_act(distribution), distribution, Command(0.0, 0.0), seeds, randomness
    )
    environments.close()
    return episodes


def reward_of_lunar_lander(before: np.ndarray, after: np.ndarray, action: int) -> float:
    """By the task's definition: what came nearer, slower, straighter and down, less fuel."""

    def shaping(state: np.ndarray) -> float:
        x, y, vx, vy, angle, _, left, right = state.astype(np.float64)
        return -100 * (np.hypot(x, y) + np.hypot(vx, vy) + abs(angle)) + 10 * (left + right)

    return shaping(after) - shaping(before) - {0: 0.0, 1: 0.03, 2: 0.3, 3: 0.03}[action]


def reward_of_double_pendulum(after: np.ndarray) -> float:
    """Ten a step, less the tip's distance from (0, 2) and the poles' speeds; the tip follows from the angles."""
    x, sin1, sin2, cos1, cos2, _, v1, v2, *_ = after.astype(np.float64)
    sin12, cos12 = sin1 * cos2 + cos1 * sin2, cos1 * cos2 - sin1 * sin2
    tip_x, tip_y = x + 0.6 * sin1 + 0.6 * sin12, 0.6 * cos1 + 0.6 * cos12
    return 10 - 0.01 * tip_x**2 - (tip_y - 2) ** 2 - 1e-3 * v1**2 - 5e-3 * v2**2


def test_spaces_are_the_same(env_id: str) -> None:
    ours, theirs = GymnasiumEngine(find_environment(env_id)), envpool.make(env_id, env_type="gymnasium")
    assert theirs.observation_space.shape == ours.observations.shape == EnvPoolEngine(env_id).observations.shape
    assert EnvPoolEngine(env_id).observations.space == ours.observations.space
    assert EnvPoolEngine(env_id).actions.space == ours.actions.space
    if isinstance(ours.actions.space, gym.spaces.Discrete):
        assert theirs.action_space.n == ours.actions.space.n
    else:
        assert isinstance(ours.actions.space, gym.spaces.Box)
        np.testing.assert_array_equal(theirs.action_space.low, ours.actions.space.low)
        np.testing.assert_array_equal(theirs.action_space.high, ours.actions.space.high)


def test_time_limits_are_the_same(env_id: str) -> None:
    spec = gym.spec(env_id)
    assert envpool.make(env_id, env_type="gymnasium").spec.config.max_episode_steps == spec.max_episode_steps == 1000


@pytest.mark.parametrize("make", ENGINES, ids=["gymnasium", "envpool"])
def test_a_seed_decides_an_episode_whoever_runs_beside_it(env_id: str, make: Callable[[str], Engine]) -> None:
    together = random_episodes(make(env_id), [7, 2_000_003, 7], 150)
    (alone,) = random_episodes(make(env_id), [2_000_003], 150)
    for one, other in ((together[0], together[2]), (together[1], alone)):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.rewards, other.rewards)
    assert not np.array_equal(together[0].observations[0], together[1].observations[0])


def test_starts_lengths_and_returns_have_the_same_distribution(env_id: str) -> None:
    limit = 100 if env_id.startswith("Swimmer") else None
    ours, theirs = (random_episodes(make(env_id), list(range(1, 161)), limit) for make in ENGINES)
    starts = [np.array([episode.observations[0] for episode in episodes]) for episodes in (ours, theirs)]
    pairs = [
        *zip(starts[0].T, starts[1].T, strict=True),
        *([[measure(episode) for episode in episodes] for episodes in (ours, theirs)] for measure in MEASURES),
    ]
    # Ten comparisons of what is the same fall below this once in two hundred tries; and the tries are seeded.
    for pair in pairs:
        result: Any = ks_2samp(*pair)
        assert result.pvalue > 5e-4


MEASURES: list[Callable[[Episode], Any]] = [len, lambda episode: episode.total_return]


@pytest.mark.parametrize("make", ENGINES, ids=["gymnasium", "envpool"])
def test_the_reward_of_a_trajectory_is_what_the_task_says(env_id: str, make: Callable[[str], Engine]) -> None:
    if env_id.startswith("Swimmer"):
        pytest.skip("its reward needs a position that is not observed: compared below")
    for episode in random_episodes(make(env_id), [1, 2, 3, 4]):
        seen = episode.observations
        for t in range(len(episode) - 1):
            if env_id.startswith("Lunar"):
                expected = reward_of_lunar_lander(seen[t], seen[t + 1], int(episode.actions[t, 0]))
                assert episode.rewards[t] == pytest.approx(expected, abs=2e-3)
            else:
                assert episode.rewards[t] == pytest.approx(reward_of_double_pendulum(seen[t + 1]), abs=1e-2)


def test_swimmers_reward_is_its_speed_less_its_effort_in_both(env_id: str) -> None:
    if not env_id.startswith("Swimmer"):
        pytest.skip("compared above")
    actions = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    one = find_environment(env_id)()
    one.reset(seed=1)
    many = envpool.make(env_id, env_type="gymnasium", num_envs=1, env_seed=[1])
    many.reset()
    positions: list[list[float]] = [[], []]
    for action in actions:
        rewards = []
        _, reward, _, _, info = one.step(action)
        rewards.append(float(reward))
        positions[0].append(info["x_position"])
        _, reward, _, _, info = many.step(action[None])
        rewards.append(float(reward[0]))
        positions[1].append(float(info["x_position"][0]))
        for reward, x in zip(rewards, positions, strict=True):
            if len(x) > 1:
                assert reward == pytest.approx((x[-1] - x[-2]) / 0.04 - 1e-4 * np.sum(action**2), abs=1e-4)


def test_auto_takes_envpool_where_it_has_the_same_task(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_engine("auto", env_id) == "envpool"
    assert choose_engine("gymnasium", env_id) == "gymnasium"
    assert choose_engine("auto", env_id, Countdown) == "gymnasium"
    assert choose_engine("auto", "Pendulum-v1") == "gymnasium"
    with pytest.raises(UserError, match="own"):
        choose_engine("envpool", env_id, Countdown)
    with pytest.raises(UserError, match="EnvPool has no"):
        choose_engine("envpool", "Nowhere-v1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert choose_engine("auto", env_id) == "gymnasium"
    with pytest.raises(UserError, match=r"udrl\[envpool\]"):
        choose_engine("envpool", env_id)
