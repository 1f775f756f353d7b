"""TakeCover is the paper's: a tic a step, left or right, a reward of 1 for each, small grey frames."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import udrl
from udrl.takecover import SIZE, TakeCover, shrinking
from udrl.tasks import find_task

vizdoom = pytest.importorskip("vizdoom")


@pytest.fixture(scope="module")
def game() -> Iterator[TakeCover]:
    environment = TakeCover()
    yield environment
    environment.close()


def play(game: TakeCover, seed: int, n: int) -> tuple[np.ndarray, int]:
    """The first frame and those of at most n tics of going left and right by turns, and how many there were."""
    frames = [game.reset(seed=seed)[0].copy()]
    for t in range(n):
        observation, reward, terminated, truncated, _ = game.step(np.int64(t // 10 % 2))
        assert (reward, truncated) == (1.0, False)
        frames.append(observation.copy())
        if terminated:
            break
    return np.stack(frames), len(frames) - 1


def test_frames_are_small_and_grey(game: TakeCover) -> None:
    frames, _ = play(game, 1, 5)
    assert frames.shape == (6, SIZE, SIZE)
    assert frames.dtype == np.uint8
    assert 10 < frames.mean() < 245
    assert game.action_space == gym.spaces.Discrete(2)


def test_a_seed_and_actions_decide_an_episode(game: TakeCover) -> None:
    frames, n = play(game, 3, 400)
    again, n_again = play(game, 3, 400)
    other, _ = play(game, 4, 400)
    assert n == n_again
    np.testing.assert_array_equal(frames, again)
    assert frames.shape != other.shape or (frames != other).any()


def test_the_actions_are_left_and_right(game: TakeCover) -> None:
    def moved(action: int) -> float:
        game.reset(seed=1)
        before = game._game.get_game_variable(vizdoom.GameVariable.POSITION_Y)
        for _ in range(15):
            game.step(np.int64(action))
        return game._game.get_game_variable(vizdoom.GameVariable.POSITION_Y) - before

    left, right = moved(0), moved(1)
    assert abs(left) > 10
    assert left * right < 0


def test_an_episode_ends_by_dying_only(game: TakeCover) -> None:
    _, n = play(game, 5, 3000)
    assert 50 < n < 3000
    assert find_task("takecover").config.max_episode_steps == 2100


def test_nothing_is_left_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = TakeCover()
    environment.reset(seed=1)
    environment.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("end", ["environment.close()", "os.kill(os.getpid(), 9)", "pass"])
def test_no_game_outlives_its_process(end: str) -> None:
    begin = "import os; from udrl.takecover import TakeCover; environment = TakeCover(); environment.reset(seed=1)"
    program = f"{begin}; print(environment._folder.name, flush=True); {end}"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    folder = done.stdout.strip()
    assert Path(folder).is_absolute()

    def lives() -> bool:
        return subprocess.run(["pgrep", "-f", folder], stdout=subprocess.DEVNULL).returncode == 0

    for _ in range(100):
        if not lives():
            break
        time.sleep(0.05)
    assert not lives()
    assert not Path(folder).exists()


def test_a_person_sees_colours() -> None:
    environment = TakeCover(render_mode="rgb_array")
    environment.reset(seed=1)
    picture = environment.render()
    environment.close()
    assert picture.shape == (120, 160, 3)
    assert (picture[..., 0] != picture[..., 2]).any()


def test_shrinking_averages_what_a_pixel_covers() -> None:
    # Three pixels over two: each new one covers one and a half of the old.
    np.testing.assert_allclose(shrinking(3, 2), [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]], rtol=1e-6)
    np.testing.assert_allclose(shrinking(160, SIZE).sum(axis=1), 1.0, rtol=1e-5)


def test_an_agent_trains_and_is_commanded() -> None:
    settings: dict[str, Any] = {
        "conv_channels": (4, 4, 4, 4), "hidden_sizes": (8,), "batch_size": 8, "n_updates_per_iter": 2,
        "n_warm_up_episodes": 2, "n_episodes_per_iter": 2, "n_evaluation_episodes": 1, "max_episode_steps": 60,
    }  # fmt: skip
    agent = udrl.train("takecover-small", env_steps=1, quiet=True, **settings)
    command = agent.evaluation_command
    assert float(command.desired_return) == float(command.desired_horizon) == 60
    evaluation = agent.evaluate(command, episodes=2)
    assert (evaluation.returns == evaluation.lengths).all()
    assert (evaluation.lengths <= 60).all()
