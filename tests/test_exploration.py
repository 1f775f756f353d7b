"""The next commands: M, S and the horizon by hand."""

import math

import numpy as np
import pytest
from conftest import make_episode
from scipy import stats

from udrl.config import Config
from udrl.exploration import Aim, aim_at_best
from udrl.replay import Replay

BEST_THREE = Config(last_few=3)


def replay_of(returns_and_lengths: list[tuple[float, int]]) -> Replay:
    replay = Replay(10)
    replay.add([make_episode([0.0] * (n - 1) + [total]) for total, n in returns_and_lengths])
    return replay


REPLAY = replay_of([(6.0, 4), (1.0, 50), (3.0, 4), (2.0, 3)])


def test_the_aim_is_the_mean_and_population_deviation_of_the_best():
    aim = aim_at_best(REPLAY, BEST_THREE)
    assert aim.mean_return == pytest.approx(11 / 3)
    assert aim.std_return == pytest.approx(math.sqrt(49 / 3 - (11 / 3) ** 2))


def test_the_horizon_is_the_integer_part_of_the_mean_length():
    assert aim_at_best(REPLAY, BEST_THREE).horizon == 3


def test_the_texts_horizon_is_the_mean_length():
    assert aim_at_best(REPLAY, Config(last_few=3, integer_horizon=False)).horizon == pytest.approx(11 / 3)


def test_a_replay_with_fewer_episodes_gives_all_it_has():
    aim = aim_at_best(REPLAY, Config(last_few=100))
    assert aim.mean_return == 3.0
    assert aim.horizon == 15


def test_exploratory_returns_are_uniform_from_m_to_m_plus_s_with_one_horizon():
    command = Aim(100.0, 20.0, 7.0).exploratory_commands(1000, np.random.default_rng(0))
    returns = np.asarray(command.desired_return)
    assert returns.shape == (1000,)
    assert returns.min() >= 100
    assert returns.max() <= 120
    assert stats.kstest(returns, stats.uniform(100, 20).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(command.desired_horizon, np.full(1000, 7.0))


def test_episodes_of_equal_return_leave_nothing_to_draw():
    aim = aim_at_best(replay_of([(5.0, 2), (5.0, 3)]), BEST_THREE)
    command = aim.exploratory_commands(4, np.random.default_rng(0))
    np.testing.assert_array_equal(command.desired_return, [5.0] * 4)


def test_evaluation_asks_for_m_in_the_same_horizon():
    command = Aim(12.5, 3.0, 7.0).evaluation_command()
    assert (command.desired_return, command.desired_horizon) == (12.5, 7.0)


def test_where_each_step_earns_one_the_return_is_an_integer_and_the_horizon_equal_to_it():
    aim = aim_at_best(REPLAY, Config(last_few=3, horizon_is_return=True))
    evaluation = aim.evaluation_command()
    assert (evaluation.desired_return, evaluation.desired_horizon) == (3.0, 3.0)
    command = Aim(100.0, 20.0, 7.0, True).exploratory_commands(100, np.random.default_rng(0))
    returns = np.asarray(command.desired_return)
    np.testing.assert_array_equal(returns, command.desired_horizon)
    assert set(returns) == {float(n) for n in range(100, 120)}
