"""Episodes as arrays: returns-to-go, packing, and what is no episode."""

from typing import Any

import numpy as np
import pytest
from conftest import make_episode
from hypothesis import given
from hypothesis import strategies as st

from udrl.episode import Episode, pack_episodes, unpack_episodes
from udrl.errors import UserError

lengths_and_ends = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=6)


def packed() -> dict[str, np.ndarray]:
    return pack_episodes([make_episode([1.0, 2.0]), make_episode([3.0])])


def test_returns_to_go_by_hand():
    episode = make_episode([1.0, -2.0, 4.0])
    np.testing.assert_array_equal(episode.returns_to_go, [3.0, 2.0, 4.0])
    assert episode.total_return == 3.0
    assert len(episode) == 3


def test_returns_of_narrow_rewards_are_summed_widely():
    rewards = np.array([2.0**24, 1.0, 1.0], np.float32)
    episode = Episode(np.zeros((3, 1), np.float32), np.zeros((3, 1), np.int32), rewards)
    assert episode.total_return == 2.0**24 + 2


@given(lengths_and_ends)
def test_unpacking_gives_back_what_was_packed(shapes: list[tuple[int, bool]]):
    episodes = [make_episode(np.arange(n) + 0.5, 100 * i, end) for i, (n, end) in enumerate(shapes)]
    restored = unpack_episodes(pack_episodes(episodes))
    assert len(restored) == len(episodes)
    for one, other in zip(episodes, restored, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        assert one.terminated == other.terminated


@pytest.mark.parametrize("name", ["observations", "actions", "rewards", "lengths", "terminated"])
def test_a_missing_array_is_refused_by_name(name: str):
    arrays = packed()
    del arrays[name]
    with pytest.raises(UserError, match=name):
        unpack_episodes(arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lengths", np.array([2, 2])),
        ("lengths", np.array([3, 0])),
        ("lengths", np.array([4, -1])),
        ("lengths", np.array([3])),
        ("lengths", np.array([1.5, 1.5])),
        ("lengths", np.array([2.0, 1.0])),
        ("lengths", np.array(3)),
        ("lengths", np.array([[2, 1]])),
        ("terminated", np.array([True])),
        ("terminated", np.array(True)),
        ("observations", np.zeros((2, 2), np.float32)),
        ("observations", np.zeros((4, 2), np.float32)),
        ("actions", np.zeros((2, 1), np.int32)),
        ("actions", np.zeros((4, 1), np.int32)),
        ("rewards", np.zeros(2)),
        ("rewards", np.zeros((3, 1))),
        ("rewards", np.array([0.0, np.nan, 0.0])),
        ("observations", np.full((3, 2), np.inf, np.float32)),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(name: str, value: np.ndarray):
    with pytest.raises(UserError):
        unpack_episodes(packed() | {name: value})


@pytest.mark.parametrize(
    ("observations", "actions", "rewards"),
    [
        (np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0)),
        (np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1)),
        (np.zeros((1, 1)), np.zeros((2, 1)), np.zeros(1)),
        (np.zeros((1, 1)), np.zeros((1, 1)), np.array([np.inf])),
        (np.array([[np.nan]]), np.zeros((1, 1)), np.zeros(1)),
    ],
)
def test_what_is_no_episode_is_refused(observations: Any, actions: Any, rewards: Any):
    with pytest.raises(UserError, match="episode"):
        Episode(observations, actions, rewards)
