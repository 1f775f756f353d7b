"""The replay against a naive one: a sorted list of whole episodes."""

from typing import Literal

import numpy as np
import pytest
from conftest import make_episode
from hypothesis import given, settings
from hypothesis import strategies as st

from udrl.episode import Episode
from udrl.replay import PAGE, Replay

Ties = Literal["newest", "oldest"]

lengths = st.sampled_from([1, 2, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 5])
batches = st.lists(st.lists(st.tuples(lengths, st.integers(-2, 2), st.booleans()), max_size=6), max_size=8)


def labelled(birth: int, length: int, total: float, terminated: bool = True) -> Episode:
    rewards = np.random.default_rng(birth).integers(-5, 6, length).astype(np.float64)
    rewards[-1] += total - rewards.sum()
    return make_episode(rewards, 1000 * birth, terminated)


class NaiveReplay:
    def __init__(self, size: int, ties: Ties) -> None:
        self.size, self.sign = size, 1 if ties == "newest" else -1
        self.entries: list[tuple[float, int, Episode]] = []
        self.n_added = 0

    def add(self, episodes: list[Episode]) -> None:
        for episode in episodes:
            self.entries.append((episode.total_return, self.n_added, episode))
            self.n_added += 1
        self.entries.sort(key=lambda entry: (entry[0], self.sign * entry[1]))
        self.entries = self.entries[-self.size :]


def assert_same_episode(one: Episode, other: Episode) -> None:
    np.testing.assert_array_equal(one.observations, other.observations)
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.rewards, other.rewards)
    assert one.terminated == other.terminated


def assert_holds(replay: Replay, naive: NaiveReplay) -> None:
    assert len(replay) == len(naive.entries)
    assert replay.returns.tolist() == [total for total, _, _ in naive.entries]
    assert replay.births.tolist() == [birth for _, birth, _ in naive.entries]
    assert replay.lengths.tolist() == [len(episode) for _, _, episode in naive.entries]
    assert replay.n_added == naive.n_added
    for rank, (_, _, episode) in enumerate(naive.entries):
        assert_same_episode(replay[rank], episode)


def episodes_of(batch: list[tuple[int, int, bool]], first_birth: int) -> list[Episode]:
    return [labelled(first_birth + i, *shape) for i, shape in enumerate(batch)]


@given(size=st.integers(1, 5), ties=st.sampled_from(["newest", "oldest"]), batches=batches)
@settings(max_examples=100)
def test_the_best_episodes_stay_whatever_comes(size: int, ties: Ties, batches: list[list[tuple[int, int, bool]]]):
    replay, naive = Replay(size, ties), NaiveReplay(size, ties)
    for batch in batches:
        episodes = episodes_of(batch, naive.n_added)
        replay.add(episodes)
        naive.add(episodes)
        assert_holds(replay, naive)


@given(
    ties=st.sampled_from(["newest", "oldest"]),
    before=batches,
    after=st.lists(st.tuples(lengths, st.integers(-2, 2), st.booleans()), max_size=6),
)
def test_a_restored_replay_goes_on_like_the_one_it_was(
    ties: Ties, before: list[list[tuple[int, int, bool]]], after: list[tuple[int, int, bool]]
):
    replay, naive = Replay(3, ties), NaiveReplay(3, ties)
    for batch in before:
        episodes = episodes_of(batch, naive.n_added)
        replay.add(episodes)
        naive.add(episodes)
    restored = Replay(3, ties)
    restored.restore({birth: replay[rank] for rank, birth in enumerate(replay.births.tolist())}, replay.n_added)
    assert_holds(restored, naive)
    episodes = episodes_of(after, naive.n_added)
    restored.add(episodes)
    naive.add(episodes)
    assert_holds(restored, naive)


def test_contents_survive_hundreds_of_evictions():
    rng = np.random.default_rng(0)
    replay, naive = Replay(7), NaiveReplay(7, "newest")
    for birth in range(300):
        episode = labelled(birth, int(rng.integers(1, 4 * PAGE)), birth + float(rng.integers(0, 20)))
        replay.add([episode])
        naive.add([episode])
    assert_holds(replay, naive)


def test_contents_survive_the_growth_of_the_arrays():
    replay, naive = Replay(80), NaiveReplay(80, "newest")
    episodes = [labelled(birth, 3 * PAGE, birth) for birth in range(80)]
    replay.add(episodes)
    naive.add(episodes)
    assert_holds(replay, naive)


def test_pages_of_episodes_that_left_are_used_again():
    replay = Replay(2)
    for birth in range(200):
        replay.add([labelled(birth, 3 * PAGE, birth)])
    assert len(replay._rows["rewards"]) <= 64 * PAGE


def test_gather_reads_what_the_episodes_hold():
    rng = np.random.default_rng(1)
    replay = Replay(4)
    replay.add([labelled(birth, int(rng.integers(1, 3 * PAGE)), float(rng.integers(0, 5))) for birth in range(30)])
    ranks = rng.integers(4, size=(3, 50))
    steps = (rng.random((3, 50)) * replay.lengths[ranks]).astype(np.int64)
    for field in ("observations", "actions", "rewards", "returns_to_go"):
        gathered = replay.gather(ranks, steps, field)[0]
        naive = [
            [getattr(replay[r], field)[t] for r, t in zip(*row, strict=True)] for row in zip(ranks, steps, strict=True)
        ]
        np.testing.assert_array_equal(gathered, naive)


@pytest.mark.parametrize(("ties", "kept"), [("newest", [3, 4]), ("oldest", [1, 0])])
def test_among_equal_returns_age_decides(ties: Ties, kept: list[int]):
    replay = Replay(2, ties)
    replay.add([labelled(birth, 2, 7.0) for birth in range(5)])
    assert replay.births.tolist() == kept


def test_equal_returns_are_not_lost():
    replay = Replay(5)
    replay.add([labelled(birth, 2, 1.0) for birth in range(5)])
    assert len(replay) == 5


def test_ranks_run_from_the_worst_to_the_best():
    replay = Replay(3)
    replay.add([labelled(0, 2, 5.0), labelled(1, 3, -1.0), labelled(2, 4, 9.0)])
    assert (replay[0].total_return, replay[-1].total_return) == (-1.0, 9.0)
    assert replay.lengths.tolist() == [3, 2, 4]


def test_an_episode_taken_out_is_a_copy():
    replay = Replay(1)
    replay.add([labelled(0, 3, 1.0)])
    replay[0].observations[:] = -1
    assert_same_episode(replay[0], labelled(0, 3, 1.0))


def test_bytes_stay_bytes():
    replay = Replay(1)
    replay.add([Episode(np.full((2, 3, 3), 250, np.uint8), np.zeros((2, 1), np.int32), np.zeros(2))])
    assert replay.gather(np.array([0]), np.array([1]), "observations")[0].dtype == np.uint8


def test_frames_of_three_hundred_long_episodes_stay_under_a_gibibyte():
    replay = Replay(300)
    frames = np.zeros((500, 64, 64), np.uint8)
    actions, rewards = np.zeros((500, 1), np.int32), np.ones(500)
    for _ in range(320):
        replay.add([Episode(frames, actions, rewards, True)])
    assert len(replay) == 300
    assert sum(rows.nbytes for rows in replay._rows.values()) < 1 << 30
