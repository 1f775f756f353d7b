"""One agent performing in one environment: begun, stepped, ordered and drawn; all of it from one thread."""

import collections
import contextlib
import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np

from udrl.agent import Agent
from udrl.command import Command
from udrl.engines import EnvironmentFactory, find_environment, with_render_mode
from udrl.errors import UserError
from udrl.live import LiveEpisode
from udrl.page import pictures
from udrl.render import DEFAULT_FPS, picture_of

Row = list[Any]
"""A step as the page gets it: t, still desired return and horizon, obtained, distribution, action; the last two are
null where they do not exist."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a finished episode was asked for, in all, and what it obtained."""

    desired_return: float
    obtained: float
    steps: int


class Performance:
    """An agent in an environment of its own. OpenGL belongs to a thread, so all calls have to come from one."""

    def __init__(self, agent: Agent, environment: EnvironmentFactory | None, draws: bool = True) -> None:
        self.agent = agent
        self._environment, self.draws, self.why_not = _make(agent, environment, draws)
        try:
            agent.check_spaces(self._environment.observation_space, self._environment.action_space)
        except UserError:
            self._environment.close()
            raise
        self.fps = float(self._environment.metadata.get("render_fps") or DEFAULT_FPS)
        self._observed: collections.deque[np.ndarray] = collections.deque(maxlen=pictures.PLOT_STEPS)
        self.live: LiveEpisode | None = None
        self._now: Row = []
        self.orders: dict[int, Command] = {}
        """The orders of this episode, by the step from which they held."""
        self.seed = 0

    def begin(self, command: Command, seed: int) -> Row:
        """A new episode; environment and actions follow from the seed."""
        self.live = None
        self.live = LiveEpisode(self.agent, self._environment, command, seed, seed)
        self.orders, self.seed = {0: command}, seed
        self._observed.clear()
        self._observed.append(self.agent.encode(self.live.observation))
        self._now = self._row(self.live)
        return self._now

    def order(self, desired_return: float | None, desired_horizon: float | None) -> Row:
        """A new order; what is None stays what is still desired."""
        live = self._episode()
        now = live.command
        command = Command(
            float(now.desired_return) if desired_return is None else desired_return,
            float(now.desired_horizon) if desired_horizon is None else desired_horizon,
        )
        live.order(command)
        self.orders[live.t] = command
        self._now = self._row(live)
        return self._now

    def advance(self, n: int) -> list[Row]:
        """At most n steps; the rows of the steps done, and of the state after them."""
        if self.is_over:
            return []
        rows = [self._now.copy()]
        for _ in range(n):
            rows[-1][-1] = np.ravel(self.step()).tolist()
            rows.append(self._row(self._episode()))
            if self.is_over:
                break
        self._now = rows[-1]
        return rows

    def step(self) -> Any:
        """One step of a running episode; returns the action."""
        live = self._episode()
        action = live.step()
        if not self.draws:
            self._observed.append(self.agent.encode(live.observation))
        return action

    def picture(self) -> np.ndarray:  # [h, w, 3] uint8
        """What there is to see now."""
        return picture_of(self._environment) if self.draws else pictures.plot(list(self._observed))

    def jpeg(self) -> bytes:
        return pictures.encode(self.picture())

    @property
    def is_over(self) -> bool:
        return self.live is None or self.live.is_over

    def outcome(self) -> Outcome:
        """Of a finished episode. What it was asked for is what the last order came to, counted from the beginning."""
        live = self._episode()
        return Outcome(float(live.command.desired_return) + live.obtained, live.obtained, live.t)

    def close(self) -> None:
        self._environment.close()

    def _episode(self) -> LiveEpisode:
        if self.live is None:
            raise UserError("There is no episode: restart.")
        return self.live

    def _row(self, live: LiveEpisode) -> Row:
        command = live.command
        numbers = [float(command.desired_return), float(command.desired_horizon), live.obtained]
        likely = None if live.is_over else [round(x, 4) for x in live.distribution().ravel().tolist()]
        return [live.t, *(round(number, 4) for number in numbers), likely, None]


def _make(
    agent: Agent, environment: EnvironmentFactory | None, draws: bool
) -> tuple[gym.Env[Any, Any], bool, str | None]:
    """The environment, whether it draws itself, and why it does not."""
    agent.check_may_make(environment)
    name = agent.config.env_id
    why_not = None
    if draws:
        drawing: gym.Env[Any, Any] | None = None
        try:
            drawing = with_render_mode(environment or find_environment(name, "rgb_array"), "rgb_array")()
            if drawing.render_mode == "rgb_array":
                drawing.reset(seed=0)
                picture_of(drawing)
                return drawing, True, None
            why_not = "it is made without render_mode='rgb_array'"
        except Exception as error:
            why_not = str(error).strip().partition("\n")[0] or type(error).__name__
        if drawing is not None:
            with contextlib.suppress(Exception):
                drawing.close()
    try:
        return (environment or find_environment(name))(), False, why_not
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"'{name}' cannot be made ({type(error).__name__}: {error}).") from error
