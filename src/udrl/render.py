"""Commanded episodes as a video: what an agent does, what is still desired of it, and what it has obtained."""

import contextlib
import ctypes.util
import dataclasses
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from udrl.agent import Agent
from udrl.captions import Captions, Moment
from udrl.command import Command
from udrl.engines import EnvironmentFactory, find_environment, opengl_advice, with_render_mode
from udrl.errors import UserError
from udrl.evaluation import Evaluation, evaluation_batch
from udrl.live import LiveEpisode
from udrl.rollout import environment_seed
from udrl.video import check_video, write_video

DEFAULT_FPS = 30
"""Pictures a second of an environment that does not say how many."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """A video that has been written, and what was obtained in it."""

    path: Path
    fps: float
    evaluation: Evaluation

    @property
    def seconds(self) -> float:
        """How long it plays: an episode has one picture more than steps."""
        return float((self.evaluation.lengths + 1).sum()) / self.fps


def record_video(
    agent: Agent,
    path: str | Path,
    command: Command | None = None,
    *,
    seed: int = 0,
    episodes: int = 1,
    environment: EnvironmentFactory | None = None,
    fps: float | None = None,
    scale: int | None = None,
    quiet: bool = True,
) -> Recording:
    """Obey `command` (the evaluation command if none) and write what that looks like into an .mp4 or .gif file.

    The episodes are the first ones of `agent.evaluate(command, seed=seed)`, where Gymnasium steps those. `environment`
    makes one with render_mode="rgb_array", or takes that as an argument. `scale` magnifies the pictures; small ones
    are magnified anyway.
    """
    path = Path(path)
    check_video(path)
    command = (command or agent.evaluation_command).checked()
    ends: list[Moment] = []

    def pictures(moments: Iterable[Moment]) -> Iterator[np.ndarray]:
        captions: Captions | None = None
        for moment in moments:
            height, width, _ = moment.picture.shape
            captions = captions or Captions(height, width, scale)
            if moment.is_last:
                ends.append(moment)
            yield captions.draw(moment)

    with _drawing(agent, environment) as stage:
        rate = fps or stage.metadata.get("render_fps") or DEFAULT_FPS
        moments = play_episodes(agent, stage, command, seed, episodes)
        write_video(path, pictures(_watched(moments, quiet)), rate)
    returns, lengths = np.array([end.obtained for end in ends]), np.array([end.t for end in ends])
    return Recording(path, rate, Evaluation(command, returns, lengths))


def play_episodes(
    agent: Agent, environment: gym.Env[Any, Any], command: Command, seed: int = 0, episodes: int = 1
) -> Iterator[Moment]:
    """Each moment of the first evaluation episodes, from before the first step to after the last."""
    batch = evaluation_batch(command, agent.config, agent.actions.is_discrete, seed, 0, episodes)
    for episode, rng in enumerate(batch.generators()):
        # First the environment's seed and then the actions: the order in which evaluation draws them.
        start = environment_seed(rng, batch.environment_seeds)
        live = LiveEpisode(agent, environment, command, start, rng)
        yield _moment(live, command, episode, environment)
        while not live.is_over:
            live.step()
            yield _moment(live, command, episode, environment)


def _moment(live: LiveEpisode, asked: Command, episode: int, environment: gym.Env[Any, Any]) -> Moment:
    return Moment(picture_of(environment), asked, live.command, live.obtained, live.t, live.is_over, episode)


@contextlib.contextmanager
def _drawing(agent: Agent, environment: EnvironmentFactory | None) -> Iterator[gym.Env[Any, Any]]:
    """The agent's environment, made so that it draws."""
    agent.check_may_make(environment)
    work_without_screen()
    try:
        make = environment or find_environment(agent.config.env_id, "rgb_array")
        stage = with_render_mode(make, "rgb_array")()
    except (UserError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise _no_picture(agent.config.env_id, error) from error
    try:
        if stage.render_mode != "rgb_array":
            raise UserError(
                f"'{agent.config.env_id}' is made with render_mode={stage.render_mode!r}: "
                "make it with render_mode='rgb_array', or let the function that makes it take render_mode."
            )
        agent.check_spaces(stage.observation_space, stage.action_space)
        yield stage
    finally:
        stage.close()


def picture_of(environment: gym.Env[Any, Any]) -> np.ndarray:  # [h, w, 3] uint8
    """What an environment that draws looks like now."""
    name = environment.spec.id if environment.spec else type(environment.unwrapped).__name__
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="glfw")  # that it finds no screen: the exception says enough
            picture: Any = environment.render()
    except Exception as error:
        raise _no_picture(name, error) from error
    if not (isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.shape[2:] == (3,)):
        raise UserError(f"'{name}' draws no pictures of height x width x 3 bytes, but {type(picture).__name__}.")
    return picture


def _no_picture(name: str, error: Exception) -> UserError:
    """Why an environment does not draw, and what helps."""
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return UserError(f"'{name}' cannot draw itself ({reason}).{opengl_advice(name)}")


def work_without_screen() -> None:
    """Have pygame and MuJoCo draw into memory where there is no screen; what the user has set stays.

    MuJoCo reads it when it is imported, and would look for a screen.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    for backend, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if "MUJOCO_GL" not in os.environ and ctypes.util.find_library(library):
            os.environ["MUJOCO_GL"] = backend


def _watched(moments: Iterable[Moment], quiet: bool) -> Iterator[Moment]:
    """The same moments, counted on a terminal: nobody knows how many there will be."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("rendering, {task.completed:.0f} pictures"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        yield from progress.track(moments)
