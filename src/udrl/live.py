"""One episode under commands, a step at a time: what videos and the page show."""

import contextlib
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from udrl.agent import Agent
from udrl.command import Command
from udrl.errors import TrainingError


class LiveEpisode:
    """An agent that obeys in an environment of Gymnasium's, with the rewards and limits of its task."""

    def __init__(
        self,
        agent: Agent,
        environment: gym.Env[Any, Any],
        command: Command,
        start: int,
        randomness: int | np.random.Generator,
    ) -> None:
        """Begin with the environment's seed `start`; actions are drawn with `randomness`."""
        self._config, self._environment, self._start = agent.config, environment, start
        self._follower = agent.follow(command, randomness)
        self._total = 0.0
        self.t = 0
        self.is_over = False
        with self._blaming():
            self.observation, _ = environment.reset(seed=start)

    @property
    def command(self) -> Command:
        """What is still desired."""
        return self._follower.command

    @property
    def obtained(self) -> float:
        return self._follower.obtained

    def order(self, command: Command) -> None:
        """A new command, from the next step on."""
        self._follower.command = command.checked()

    def distribution(self) -> np.ndarray:
        """What the next action is drawn from."""
        return self._follower.distribution(self.observation)

    def step(self) -> Any:
        """Act once; returns the action."""
        action = self._follower.act(self.observation)
        with self._blaming():
            self.observation, reward, terminated, truncated, _ = self._environment.step(action)
        self.t += 1
        self._total += float(reward)
        self.is_over = bool(terminated or truncated or self.t == self._config.max_episode_steps)
        # The task's reward, as udrl.environments lays it over the environment's.
        self._follower.receive((self._total if self.is_over else 0.0) if self._config.sparse else float(reward))
        return action

    @contextlib.contextmanager
    def _blaming(self) -> Iterator[None]:
        """Say what of an environment's went wrong, and where."""
        try:
            yield
        except Exception as error:
            where = f"environment seed {self._start}, step {self.t}"
            raise TrainingError(f"The environment raised {type(error).__name__}: {error} ({where}).") from error
