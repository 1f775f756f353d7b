"""A command carried through one episode of a user's own loop (Algorithm 2's bookkeeping)."""

import copy
from typing import Any, Protocol

import numpy as np

from udrl.command import Command
from udrl.config import Config
from udrl.frames import Stack
from udrl.randomness import Purpose, generator


class Answering(Protocol):
    """What of an agent a follower asks."""

    @property
    def config(self) -> Config: ...

    def encode(self, observation: Any) -> np.ndarray: ...

    def answer(
        self, seen: np.ndarray, command: Command, deterministic: bool | None, rng: np.random.Generator
    ) -> list[Any]: ...

    def describe_actions(self, seen: np.ndarray, command: Command) -> np.ndarray: ...


class Follower:
    """`act`, step the environment, `receive` the reward: in this order, to the end of the episode."""

    def __init__(
        self,
        agent: Answering,
        command: Command,
        seed: int | np.random.Generator = 0,
        deterministic: bool | None = None,
    ) -> None:
        self._agent = agent
        self._deterministic = deterministic
        self._stack: Stack | None = None
        is_seed = not isinstance(seed, np.random.Generator)
        self._rng = generator(seed, Purpose.DEPLOYMENT) if is_seed else seed
        self.command = command
        """What is still desired; a new order may be put here at any time."""
        self.obtained = 0.0
        """The return so far."""

    def act(self, observation: Any) -> Any:
        """The action for this observation under what is still desired."""
        self._stack = self._seeing(observation)
        return self._agent.answer(self._stack.observations, self.command, self._deterministic, self._rng)[0]

    def distribution(self, observation: Any) -> np.ndarray:
        """What `act` would draw from (see `Agent.distribution`) if it were asked now; nothing is taken note of."""
        return self._agent.describe_actions(self._seeing(observation).observations, self.command)

    def receive(self, reward: float) -> None:
        """Take note of a step's reward: less is desired, in one step less."""
        self.command = self.command.after(float(reward)).checked()
        self.obtained += float(reward)

    def _seeing(self, observation: Any) -> Stack:
        """The newest observations with this one."""
        newest = self._agent.encode(observation)[None]
        if self._stack is None:
            return Stack(newest, self._agent.config.frame_stack)
        stack = copy.copy(self._stack)  # pushing replaces its arrays
        stack.push(newest)
        return stack
