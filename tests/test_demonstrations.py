"""Demonstrations: recorded, saved and loaded; other environments' and damaged ones refused."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import Countdown, make_episode

from udrl import checkpoint
from udrl.demonstrations import check_episodes, load_episodes, record_episode, save_episodes
from udrl.episode import Episode, pack_episodes
from udrl.errors import UserError
from udrl.spaces import Actions, Observations

OBSERVATIONS = Observations(gym.spaces.Box(-np.inf, np.inf, (2,)))


class Thrust(Countdown):
    """With a start for its choices, or with continuous ones."""

    def __init__(self, actions: gym.Space[Any]) -> None:
        super().__init__()
        self.action_space = actions  # type: ignore[assignment]

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        return super().step(int(np.sum(action)))


def test_a_recorded_episode_holds_what_was_seen_done_and_earned():
    episode = record_episode(Countdown(), lambda observation: int(observation[1]) % 3, seed=3)
    np.testing.assert_array_equal(episode.observations, [[3, 0], [3, 1], [3, 2], [3, 3]])
    np.testing.assert_array_equal(episode.actions, [[0], [1], [2], [0]])
    np.testing.assert_array_equal(episode.rewards, [10.0, 21.0, 32.0, 40.0])
    assert episode.terminated
    check_episodes([episode], OBSERVATIONS, Actions(gym.spaces.Discrete(3)))


def test_a_recorded_episode_knows_a_time_limit():
    episode = record_episode(gym.wrappers.TimeLimit(Countdown(), 2), lambda _: 0, seed=4)
    assert (len(episode), episode.terminated) == (2, False)


def test_recorded_actions_are_the_behavior_functions_own():
    discrete = record_episode(Thrust(gym.spaces.Discrete(3, start=5)), lambda _: 6, seed=0)
    np.testing.assert_array_equal(discrete.actions, [[1]])
    box = gym.spaces.Box(0.0, 10.0, (1,))
    continuous = record_episode(Thrust(box), lambda _: np.array([7.5], np.float32), seed=0)
    np.testing.assert_allclose(continuous.actions, [[0.5]])


def test_a_policys_array_that_is_changed_later_does_not_change_the_record():
    class Reusing(Countdown):
        def __init__(self) -> None:
            super().__init__()
            self.buffer = np.zeros(2, np.float32)

        def observe(self) -> np.ndarray:
            self.buffer[:] = super().observe()
            return self.buffer

    episode = record_episode(Reusing(), lambda _: 0, seed=2)
    np.testing.assert_array_equal(episode.observations[:, 1], [0, 1, 2])


def test_saved_episodes_are_loaded_as_they_were(tmp_path: Path):
    episodes = [make_episode([1.0, 2.0], 5), make_episode([0.5], 9, terminated=False)]
    save_episodes(tmp_path / "episodes.safetensors", episodes)
    loaded = load_episodes(tmp_path / "episodes.safetensors")
    assert len(loaded) == 2
    for one, other in zip(episodes, loaded, strict=True):
        for name in ("observations", "actions", "rewards"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
        assert one.terminated == other.terminated


def test_arrays_that_are_not_contiguous_are_saved_right(tmp_path: Path):
    backwards = np.arange(6, dtype=np.float32).reshape(3, 2)[::-1]
    transposed = np.arange(3, dtype=np.int32)[None].T
    save_episodes(tmp_path / "episodes", [Episode(backwards, transposed, np.arange(6.0)[::2])])
    (loaded,) = load_episodes(tmp_path / "episodes")
    np.testing.assert_array_equal(loaded.observations, [[4, 5], [2, 3], [0, 1]])
    np.testing.assert_array_equal(loaded.rewards, [0, 2, 4])


def test_nothing_is_not_saved(tmp_path: Path):
    with pytest.raises(UserError, match="no episodes"):
        save_episodes(tmp_path / "episodes", [])


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"nowhere\.safetensors"):
        load_episodes(tmp_path / "nowhere.safetensors")


@pytest.mark.parametrize("kept", [0, 1, 8, 20, 0.5, 0.9, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: float):
    path = tmp_path / "episodes"
    save_episodes(path, [make_episode([1.0, 2.0])])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(UserError, match="episodes"):
        load_episodes(path)


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"\xff" * 64, b"\x80\x04\x95" + bytes(40), bytes(200)])
def test_garbage_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "episodes"
    path.write_bytes(content)
    with pytest.raises(UserError, match="episodes"):
        load_episodes(path)


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(UserError):
        load_episodes(tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    path = tmp_path / "file"
    checkpoint.save(path, "agent", pack_episodes([make_episode([1.0])]), {})
    with pytest.raises(UserError, match="not a udrl episodes file"):
        load_episodes(path)


@pytest.mark.parametrize("name", ["observations", "actions", "rewards", "lengths", "terminated"])
def test_a_file_without_one_of_its_arrays_is_refused(tmp_path: Path, name: str):
    arrays = pack_episodes([make_episode([1.0])])
    del arrays[name]
    checkpoint.save(tmp_path / "file", "episodes", arrays, {})
    with pytest.raises(UserError, match=name):
        load_episodes(tmp_path / "file")


def test_a_file_whose_lengths_do_not_add_up_is_refused(tmp_path: Path):
    arrays = pack_episodes([make_episode([1.0, 2.0])]) | {"lengths": np.array([2**40])}
    checkpoint.save(tmp_path / "file", "episodes", arrays, {})
    with pytest.raises(UserError):
        load_episodes(tmp_path / "file")


def demonstration(observations: Any, actions: Any) -> Episode:
    return Episode(np.asarray(observations), np.asarray(actions), np.zeros(len(observations)))


SEEN, DONE = np.zeros((2, 2), np.float32), np.zeros((2, 1), np.int32)


@pytest.mark.parametrize(
    "episode",
    [
        demonstration(np.zeros((2, 3), np.float32), DONE),
        demonstration(np.zeros((2, 2), np.uint8), DONE),
        demonstration(SEEN, np.zeros((2, 2), np.int32)),
        demonstration(SEEN, np.zeros((2, 1), np.float32)),
        demonstration(SEEN, np.zeros(2, np.int32)),
        demonstration(SEEN, np.array([[0], [3]], np.int32)),
        demonstration(SEEN, np.array([[-1], [0]], np.int32)),
    ],
)
def test_demonstrations_of_another_environment_are_refused(episode: Episode):
    with pytest.raises(UserError, match="Demonstration 1"):
        check_episodes([demonstration(SEEN, DONE), episode], OBSERVATIONS, Actions(gym.spaces.Discrete(3)))


def test_each_component_has_its_own_number_of_choices():
    actions = Actions(gym.spaces.MultiDiscrete([2, 3]))
    check_episodes([demonstration(SEEN, np.array([[1, 2], [0, 0]], np.int32))], OBSERVATIONS, actions)
    with pytest.raises(UserError, match="action"):
        check_episodes([demonstration(SEEN, np.array([[2, 1], [0, 0]], np.int32))], OBSERVATIONS, actions)


def test_continuous_actions_must_be_finite():
    actions = Actions(gym.spaces.Box(-1, 1, (1,)))
    check_episodes([demonstration(SEEN, np.array([[0.5], [3.0]], np.float32))], OBSERVATIONS, actions)
    with pytest.raises(UserError, match="finite"):
        check_episodes([demonstration(SEEN, np.array([[0.5], [np.nan]], np.float32))], OBSERVATIONS, actions)
