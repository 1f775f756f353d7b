"""Algorithm 2 in batches: whole episodes, commands that shrink, and randomness of each episode's own."""

from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest
from conftest import Countdown

from udrl.actions import Categorical
from udrl.behavior import make_behavior
from udrl.command import Command
from udrl.config import Config
from udrl.engines import GymnasiumEngine
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.randomness import Purpose, generator
from udrl.rollout import Act, Actor, Batch, Rollouts, collect_episodes, environment_seed, parameters_of, warm_up_act
from udrl.spaces import Actions, Observations

THREE = Categorical((3,))


def length_of(seed: int, longest: int) -> int:
    return 1 + seed % longest


class Recorder:
    """Acts by a rule and keeps what it was asked."""

    def __init__(self) -> None:
        self.observations: list[np.ndarray] = []
        self.commands: list[np.ndarray] = []

    def __call__(self, observations: np.ndarray, commands: np.ndarray, noise: np.ndarray) -> np.ndarray:
        self.observations.append(observations.copy())
        self.commands.append(commands.copy())
        return (observations[:, :1] + observations[:, 1:]).astype(np.int32) % 3


def collect(
    seeds: list[int], act: Act, commands: Command | None = None, longest: int = 5, **options: Any
) -> list[Episode]:
    environments = Environments(GymnasiumEngine(lambda: Countdown(longest)), **options)
    randomness = [generator(seed, Purpose.EXPLORATION) for seed in seeds]
    return collect_episodes(environments, act, THREE, commands or Command(0.0, 1.0), seeds, randomness)


def test_there_is_one_whole_episode_per_seed_in_order():
    seeds = [12, 3, 40, 0, 39, 27]
    episodes = collect(seeds, Recorder(), longest=41)
    assert [len(episode) for episode in episodes] == [length_of(seed, 41) for seed in seeds]
    assert all(episode.terminated for episode in episodes)
    for seed, episode in zip(seeds, episodes, strict=True):
        np.testing.assert_array_equal(episode.observations[:, 0], seed)
        np.testing.assert_array_equal(episode.observations[:, 1], np.arange(len(episode)))


def test_an_episode_holds_the_actions_taken_and_what_they_earned():
    for episode in collect([4, 1, 3], Recorder()):
        seen = episode.observations
        np.testing.assert_array_equal(episode.actions[:, 0], seen.sum(axis=1) % 3)
        np.testing.assert_array_equal(episode.rewards, 10 * (seen[:, 1] + 1) + episode.actions[:, 0])


def test_commands_shrink_by_rewards_and_steps_of_their_own_episode():
    seeds, recorder = [4, 1, 3], Recorder()
    returns, horizons = np.array([100.0, -5.0, 0.0]), np.array([10.0, 2.0, 1.0])
    episodes = collect(seeds, recorder, Command(returns, horizons))
    for i, episode in enumerate(episodes):
        for t in range(len(episode)):
            expected = returns[i] - episode.rewards[:t].sum(), horizons[i] - t
            (row,) = np.flatnonzero(recorder.observations[t][:, 0] == seeds[i])
            np.testing.assert_array_equal(recorder.commands[t][row], expected)
            np.testing.assert_array_equal(recorder.observations[t][row], episode.observations[t])


def test_sparse_rewards_leave_the_command_as_it_is_until_the_end():
    recorder = Recorder()
    (episode,) = collect([4], recorder, Command(50.0, 5.0), sparse=True)
    assert [command[0, 0] for command in recorder.commands] == [50.0] * 5
    assert episode.total_return == episode.rewards[-1] > 0


def test_only_running_episodes_are_acted_for_until_the_longest_ends():
    recorder = Recorder()
    collect([4, 0, 2], recorder)
    assert [commands.shape for commands in recorder.commands] == [(3, 2), (2, 2), (2, 2), (1, 2), (1, 2)]


def test_a_time_limit_truncates_only_what_it_cuts():
    cut, whole = collect([4, 1], Recorder(), max_episode_steps=3)
    assert (len(cut), cut.terminated) == (3, False)
    assert (len(whole), whole.terminated) == (2, True)


def test_an_episodes_actions_do_not_depend_on_who_runs_beside_it():
    seeds = [299, 5, 130, 0]
    together = collect(seeds, warm_up_act(THREE), longest=300)
    for seed, episode in zip(seeds, together, strict=True):
        (alone,) = collect([seed], warm_up_act(THREE), longest=300)
        np.testing.assert_array_equal(episode.actions, alone.actions)
    assert len(together[0]) == 300


def test_warm_up_actions_differ_between_steps_and_between_episodes():
    one, other = collect([299, 599], warm_up_act(THREE), longest=300)
    assert not np.array_equal(one.actions, other.actions)
    counts = np.bincount(one.actions[:, 0], minlength=3)
    assert counts.min() > 60
    assert not np.array_equal(one.actions[:128], one.actions[128:256])


def test_episodes_of_a_batch_do_not_share_memory():
    one, other = collect([2, 2], Recorder())
    one.observations[:] = -1
    assert (other.observations >= 0).all()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("training", 1_000_000, 10_000_000), ("tuning", 500_000, 1_000_000), ("final", 1, 500_000)],
)
def test_environment_seeds_are_uniform_in_the_papers_ranges(name: Any, low: int, high: int):
    seeds = np.array([environment_seed(np.random.default_rng(i), name) for i in range(400)])
    assert low <= seeds.min() < low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) < seeds.max() < high


def test_generators_differ_by_each_of_their_coordinates():
    def first(seed: int, purpose: Purpose, iteration: int, n: int) -> list[float]:
        batch = Batch("sample", Command(np.zeros(n), np.ones(n)), seed, purpose, iteration, range(n), "training")
        return [rng.random() for rng in batch.generators()]

    base = first(1, Purpose.EXPLORATION, 2, 3)
    assert base == first(1, Purpose.EXPLORATION, 2, 3)
    assert base == first(1, Purpose.EXPLORATION, 2, 5)[:3]
    others = [first(2, Purpose.EXPLORATION, 2, 3), first(1, Purpose.WARM_UP, 2, 3), first(1, Purpose.EXPLORATION, 3, 3)]
    assert len({*base, *(number for other in others for number in other)}) == 12


def test_acting_is_what_the_behavior_function_says_for_each_row():
    environments = Environments(GymnasiumEngine(Countdown))
    config = Config(hidden_sizes=(4,))
    behavior = make_behavior(environments.observations, environments.actions, config, jax.random.key(0))
    actor = Actor(behavior)
    rng = np.random.default_rng(0)
    observations, commands = rng.normal(size=(20, 2)).astype(np.float32), rng.normal(size=(20, 2)).astype(np.float32)
    noise = THREE.draw_noise(rng, 20)
    rows = [tuple(map(jax.numpy.asarray, row)) for row in zip(observations, commands, noise, strict=True)]
    for how in ("sample", "mode"):
        actions = actor.act(parameters_of(behavior), how)(observations, commands, noise)
        assert actions.tolist() == [getattr(behavior, how)(*row).tolist() for row in rows]


@pytest.mark.parametrize("space", [gym.spaces.Box(0, 255, (6,), np.uint8), gym.spaces.Box(-1, 1, (2, 3), np.float32)])
def test_observations_that_are_no_float_vectors_are_acted_on_alike(space: gym.spaces.Box):
    behavior = make_behavior(Observations(space), Actions(gym.spaces.Discrete(3)), Config(), jax.random.key(0))
    space.seed(0)
    observations, commands = np.stack([space.sample() for _ in range(5)]), np.ones((5, 2))
    noise = THREE.draw_noise(np.random.default_rng(0), 5)
    rows = [tuple(map(jax.numpy.asarray, row)) for row in zip(observations, commands, noise, strict=True)]
    actions = Actor(behavior).act(parameters_of(behavior))(observations, commands, noise)
    assert actions.tolist() == [behavior.sample(*row).tolist() for row in rows]


def test_one_actor_serves_other_parameters():
    environments = Environments(GymnasiumEngine(Countdown))
    config = Config(hidden_sizes=(4,), fast_init_gain=5.0)
    one, other = (
        make_behavior(environments.observations, environments.actions, config, jax.random.key(key)) for key in (0, 1)
    )
    ones = np.ones((50, 2), np.float32)
    noise = np.linspace(0, 0.99, 50, dtype=np.float32)[:, None]
    of_one, of_other = parameters_of(one), parameters_of(other)
    actor = Actor(one)
    expected = Actor(other).act(of_other)(ones, ones, noise)
    np.testing.assert_array_equal(actor.act(of_other)(ones, ones, noise), expected)
    assert not np.array_equal(actor.act(of_one)(ones, ones, noise), expected)


@pytest.mark.parametrize("shape", [(8,), (3, 16, 16)])
def test_an_action_is_the_same_to_the_last_bit_however_many_are_asked_for(shape: tuple[int, ...]):
    space = gym.spaces.Box(-1.0, 1.0, shape, np.float32)
    body = "mlp" if len(shape) == 1 else "conv"
    config = Config(hidden_sizes=(64, 128), conv_channels=(8, 8), body=body)
    behavior = make_behavior(Observations(space), Actions(gym.spaces.Box(-1, 1, (2,))), config, jax.random.key(0))
    act = Actor(behavior).act(parameters_of(behavior), "mode")
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(50, *shape)).astype(np.float32)
    commands, noise = rng.normal(size=(2, 50, 2)).astype(np.float32) * 50
    together = act(observations, commands, noise)
    for n in (1, 2, 7, 20, 21, 40):
        np.testing.assert_array_equal(act(observations[-n:], commands[-n:], noise[-n:]), together[-n:])


def test_a_batch_in_parts_is_the_batch():
    environments = Environments(GymnasiumEngine(lambda: Countdown(40)))
    config = Config(hidden_sizes=(4,))
    behavior = make_behavior(environments.observations, environments.actions, config, jax.random.key(0))
    rollouts = Rollouts(environments, behavior)
    command = Command(np.arange(30.0), np.arange(30.0) + 1)
    batch = Batch("sample", command, 1, Purpose.EXPLORATION, 2, range(30), "training")
    whole = rollouts.collect(parameters_of(behavior), batch)
    halves = [rollouts.collect(parameters_of(behavior), batch.part(*ends)) for ends in ((0, 17), (17, 30))]
    for one, other in zip(whole, halves[0] + halves[1], strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
