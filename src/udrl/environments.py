"""Many copies of one environment, stepped together; sparse reward and time limits are laid over any engine alike."""

import math
from collections.abc import Sequence

import numpy as np

from udrl.config import Config
from udrl.engines import Engine, EnvironmentFactory, StepResult, choose_engine, make_engine
from udrl.errors import TrainingError


class Environments:
    """An engine's copies, with the reward and the limit of the task, and a check of what they give."""

    def __init__(
        self, engine: Engine, sparse: bool = False, max_episode_steps: int | None = None, frame_stack: int = 1
    ) -> None:
        self._engine, self._sparse, self.frame_stack = engine, sparse, frame_stack
        self._max_steps = max_episode_steps or np.iinfo(np.int64).max
        self.observations, self.actions = engine.observations, engine.actions
        self.most_copies = engine.most_copies
        self._seeds: Sequence[int] = ()
        self._t = 0  # the same for all copies, since they start together
        self._totals = np.empty(0, np.float64)  # [B]

    def start(self, seeds: Sequence[int]) -> np.ndarray:  # [B, *observation]
        """Begin one episode per seed, in as many copies."""
        self._seeds, self._t = seeds, 0
        self._totals = np.zeros(len(seeds), np.float64)
        observations = self._engine.start(seeds)
        self._check_finite(observations, self._totals, np.arange(len(seeds)))
        return observations

    def step(self, running: np.ndarray, actions: np.ndarray) -> StepResult:
        """Step the copies numbered `running` [n], each with its action [n, k]."""
        observations, rewards, terminated, truncated = self._engine.step(running, actions)
        self._t += 1
        self._check_finite(observations, rewards, running)
        if self._t >= self._max_steps:
            truncated = np.ones_like(truncated)
        if self._sparse:
            self._totals[running] += rewards
            rewards = np.where(terminated | truncated, self._totals[running], 0.0)
        return StepResult(observations, rewards, terminated, truncated)

    def close(self) -> None:
        self._engine.close()

    def _check_finite(self, observations: np.ndarray, rewards: np.ndarray, running: np.ndarray) -> None:
        # One sum is cheaper than looking at every number, and is not finite if one of them is not.
        if math.isfinite(rewards.sum()) and (observations.dtype == np.uint8 or math.isfinite(observations.sum())):
            return
        axes = tuple(range(1, observations.ndim))
        bad = ~np.isfinite(rewards) | ~np.isfinite(observations).all(axis=axes)
        if not bad.any():
            return  # numbers that are merely large
        row = int(np.flatnonzero(bad)[0])
        what = "observation" if np.isfinite(rewards[row]) else "reward"
        i = int(running[row])
        raise TrainingError(
            f"The environment gave a {what} that is not finite, at step {self._t} of episode {i} of the batch "
            f"(environment seed {self._seeds[i]})."
        )


def make_environments(config: Config, factory: EnvironmentFactory | None = None) -> Environments:
    """The environments that a configuration asks for; a factory of the user's own takes the place of `env_id`."""
    kind = choose_engine(config.engine, config.env_id, factory)
    engine = make_engine(kind, config.env_id, factory)
    return Environments(engine, config.sparse, config.max_episode_steps, config.frame_stack)
