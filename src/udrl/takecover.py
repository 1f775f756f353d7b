"""TakeCover: step aside from fireballs for as long as possible, in ViZDoom (Appendix "Description of Environments")."""

import contextlib
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from udrl.errors import UserError

WIDTH, HEIGHT, SIZE = 160, 120, 64


class TakeCover(gym.Env[np.ndarray, np.int64]):
    """One tic a step, left or right, a reward of 1 for each; one grey frame, to be stacked by who needs more.

    It has no time limit: that is the task's. ViZDoom runs each game in a process of its own.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 35, "most_copies": 20}  # noqa: RUF012 (Gymnasium's own)

    def __init__(self, render_mode: str | None = None) -> None:
        try:
            import vizdoom
        except ImportError:
            raise UserError("TakeCover needs an extra: pip install 'udrl[vizdoom]'.") from None
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(0, 255, (SIZE, SIZE), np.uint8)
        self.action_space = gym.spaces.Discrete(2)
        self._folder = tempfile.TemporaryDirectory(prefix="udrl-vizdoom-")
        self._game = game = vizdoom.DoomGame()
        game.load_config(str(Path(vizdoom.scenarios_path) / "take_cover.cfg"))
        game.set_doom_config_path(str(Path(self._folder.name) / "vizdoom.ini"))  # else into the current folder
        # Colour only for a person: the agent's grey is drawn quicker.
        is_grey = render_mode is None
        game.set_screen_format(vizdoom.ScreenFormat.GRAY8 if is_grey else vizdoom.ScreenFormat.RGB24)
        game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
        game.set_window_visible(False)
        game.set_sound_enabled(False)
        game.set_mode(vizdoom.Mode.PLAYER)
        game.set_episode_timeout(0)
        # Closing a game writes its configuration, so that has to come first, also when nobody closes it.
        self._end = weakref.finalize(self, _end, game, _watch(self._folder.name), self._folder)
        self._screen = np.zeros((HEIGHT, WIDTH) if is_grey else (HEIGHT, WIDTH, 3), np.uint8)
        self._is_running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._game.set_seed(int(self.np_random.integers(2**31)) if seed is None else seed % 2**31)
        if self._is_running:
            self._game.new_episode()
        else:
            _init(self._game)
            self._is_running = True
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._game.make_action([action == 0, action == 1])
        return self._observation(), 1.0, self._game.is_episode_finished(), False, {}

    def render(self) -> np.ndarray:  # [120, 160, 3]
        return self._screen.copy()

    def close(self) -> None:
        self._end()

    def _observation(self) -> np.ndarray:  # [64, 64] uint8
        state = self._game.get_state()
        if state is not None:  # else the episode is over, and its last frame stays
            self._screen = np.asarray(state.screen_buffer)
        grey = self._screen if self._screen.ndim == 2 else self._screen @ LUMA
        return (SHRINK_ROWS @ grey.astype(np.float32) @ SHRINK_COLUMNS + 0.5).astype(np.uint8)


def _init(game: Any) -> None:
    """Start a game, and take away the empty folder that ViZDoom makes in the current one."""
    folder = Path("_vizdoom")
    is_ours = not folder.exists()
    game.init()
    if is_ours:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _watch(folder: str) -> "subprocess.Popen[bytes]":
    """A process that ends the game of a folder once its line to this process is cut, even by kill -9: the game itself
    would wait for orders for ever."""
    end = 'cat; rm -rf -- "$0"; pkill -9 -f -- "$0"'  # which ends this one too
    return subprocess.Popen(["sh", "-c", end, folder], stdin=subprocess.PIPE, start_new_session=True)


def _end(game: Any, watch: "subprocess.Popen[bytes]", folder: "tempfile.TemporaryDirectory[str]") -> None:
    game.close()
    watch.kill()
    watch.communicate()
    folder.cleanup()


def shrinking(n: int, m: int) -> np.ndarray:  # [m, n]
    """The matrix that averages n pixels over m of equal width, each by how much of it a new one covers."""
    edges = np.linspace(0, n, m + 1)
    left, right = edges[:-1, None], edges[1:, None]
    covered = np.minimum(right, np.arange(1, n + 1)) - np.maximum(left, np.arange(n))
    return (np.maximum(covered, 0) * (m / n)).astype(np.float32)


SHRINK_ROWS, SHRINK_COLUMNS = shrinking(HEIGHT, SIZE), np.ascontiguousarray(shrinking(WIDTH, SIZE).T)
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
