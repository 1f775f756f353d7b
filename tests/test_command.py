"""Commands: Algorithm 2's bookkeeping, and what is no command."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udrl.command import Command, shrink
from udrl.errors import UserError

rewards_in_eighths = st.lists(st.integers(-8000, 8000).map(lambda n: n / 8), max_size=50)


def test_a_step_takes_the_reward_from_the_return_and_one_from_the_horizon():
    assert Command(10.0, 5).after(3.0) == Command(7.0, 4)


@given(initial=st.integers(-500, 500), horizon=st.integers(1, 60), rewards=rewards_in_eighths)
def test_what_remains_is_the_initial_command_less_all_that_was_obtained(
    initial: int, horizon: int, rewards: list[float]
):
    command = Command(float(initial), horizon)
    for reward in rewards:
        command = command.after(reward)
    assert command == Command(initial - sum(rewards), horizon - len(rewards))


def test_the_running_command_is_never_clipped():
    command = Command(300.0, 1).after(-100.0).after(-100.0)
    assert command == Command(500.0, -1)


def test_a_batch_shrinks_each_command_by_its_own_reward():
    command, rewards = Command(np.array([1.0, 2.0]), np.array([3.0, 4.0])), np.array([0.5, -1.0])
    np.testing.assert_array_equal(command.after(rewards).as_array(2), [[0.5, 2.0], [3.0, 3.0]])
    in_place = command.as_array(2)
    shrink(in_place, rewards)
    np.testing.assert_array_equal(in_place, [[0.5, 2.0], [3.0, 3.0]])


def test_indexing_selects_the_commands_of_some_episodes():
    chosen = Command(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))[np.array([2, 0])]
    np.testing.assert_array_equal(chosen.as_array(2), [[3.0, 6.0], [1.0, 4.0]])


def test_one_command_serves_a_whole_batch():
    array = Command(2.5, 7).as_array(3)
    np.testing.assert_array_equal(array, [[2.5, 7.0]] * 3)
    assert array.dtype == np.float64


def test_a_fitting_command_passes_the_check_unchanged():
    command = Command(-3.5, 0)
    assert command.checked() is command
    batch = Command(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    assert batch.checked() is batch


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -1e39, 10**400, "5", None, [1.0, math.nan]])
@pytest.mark.parametrize("name", ["desired_return", "desired_horizon"])
def test_what_the_network_cannot_be_given_is_refused_by_name(name: str, value: Any):
    values: dict[str, Any] = {"desired_return": 1.0, "desired_horizon": 1.0, name: value}
    with pytest.raises(UserError, match=name):
        Command(**values).checked()


def test_one_wrong_number_spoils_a_batch():
    with pytest.raises(UserError, match="desired_horizon"):
        Command(np.zeros(3), np.array([1.0, np.nan, 1.0])).checked()
