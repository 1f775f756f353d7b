"""Many copies of one environment, stepped together; sparse reward and time limits are laid over all alike."""

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import gymnasium as gym
import numpy as np

from udrl.config import Config
from udrl.errors import TrainingError, UserError, nearest
from udrl.spaces import spaces_of

EnvironmentFactory = Callable[[], gym.Env[Any, Any]]


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What a step of n running copies gave."""

    observations: np.ndarray  # [n, *observation]
    rewards: np.ndarray  # [n] float64
    terminated: np.ndarray  # [n] bool
    truncated: np.ndarray  # [n] bool


class Environments:
    """Copies of one environment in a plain list; copies are made when they are first needed, and kept."""

    def __init__(self, make: EnvironmentFactory, sparse: bool = False, max_episode_steps: int | None = None) -> None:
        self._make = make
        self._copies: list[gym.Env[Any, Any]] = [make()]
        if not isinstance(self._copies[0], gym.Env):
            raise UserError(f"An environment must be a gymnasium.Env, not {type(self._copies[0]).__name__}.")
        self._sparse = sparse
        self._max_steps = max_episode_steps or np.iinfo(np.int64).max
        self.observations, self.actions = spaces_of(self._copies[0])
        self._seeds: Sequence[int] = ()
        self._steps = np.empty(0, np.int64)
        self._totals = np.empty(0, np.float64)

    def start(self, seeds: Sequence[int]) -> np.ndarray:  # [B, *observation]
        """Begin one episode per seed, in as many copies."""
        while len(self._copies) < len(seeds):
            self._copies.append(self._make())
        self._seeds = seeds
        self._steps = np.zeros(len(seeds), np.int64)
        self._totals = np.zeros(len(seeds), np.float64)
        observations = np.empty((len(seeds), *self.observations.shape), self.observations.dtype)
        for i, seed in enumerate(seeds):
            try:
                observations[i] = self.observations.encode(self._copies[i].reset(seed=seed)[0])
            except Exception as error:
                raise TrainingError(self._failure(i, error)) from error
        self._check_finite(observations, np.zeros(len(seeds)), np.arange(len(seeds)))
        return observations

    def step(self, running: np.ndarray, actions: np.ndarray) -> StepResult:
        """Step the copies numbered `running` [n], each with its action [n, k]."""
        n = len(running)
        observations = np.empty((n, *self.observations.shape), self.observations.dtype)
        rewards = np.empty(n, np.float64)
        terminated, truncated = np.empty(n, bool), np.empty(n, bool)
        encode = None if self.observations.is_plain else self.observations.encode
        for row, (i, action) in enumerate(zip(running.tolist(), self.actions.decode(actions), strict=True)):
            try:
                observation, rewards[row], terminated[row], truncated[row], _ = self._copies[i].step(action)
                observations[row] = observation if encode is None else encode(observation)
            except Exception as error:
                raise TrainingError(self._failure(i, error)) from error
        self._steps[running] += 1
        self._check_finite(observations, rewards, running)
        truncated |= self._steps[running] >= self._max_steps
        if self._sparse:
            self._totals[running] += rewards
            rewards = np.where(terminated | truncated, self._totals[running], 0.0)
        return StepResult(observations, rewards, terminated, truncated)

    def close(self) -> None:
        for copy in self._copies:
            copy.close()

    def _failure(self, i: int, error: Exception) -> str:
        return (
            f"The environment raised {type(error).__name__}: {error} "
            f"(episode with environment seed {self._seeds[i]}, step {self._steps[i]})."
        )

    def _check_finite(self, observations: np.ndarray, rewards: np.ndarray, running: np.ndarray) -> None:
        if np.isfinite(rewards).all() and np.isfinite(observations).all():
            return
        axes = tuple(range(1, observations.ndim))
        bad = ~np.isfinite(rewards) | ~np.isfinite(observations).all(axis=axes)
        row = int(np.flatnonzero(bad)[0])
        what = "observation" if np.isfinite(rewards[row]) else "reward"
        i = int(running[row])
        raise TrainingError(
            f"The environment gave a {what} that is not finite, at step {self._steps[i]} of episode {i} of the batch "
            f"(environment seed {self._seeds[i]})."
        )


def make_environments(config: Config, factory: EnvironmentFactory | None = None) -> Environments:
    """The environments that a configuration asks for; a factory of the user's own takes the place of `env_id`."""
    return Environments(factory or find_environment(config.env_id), config.sparse, config.max_episode_steps)


def find_environment(env_id: str) -> EnvironmentFactory:
    """A maker of the environment called `env_id`: a name of Gymnasium's, or `module:function`."""
    module, _, function = env_id.rpartition(":")
    if module and function not in gym.registry and not _has_version(function):
        try:
            factory = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise UserError(f"The environment factory '{env_id}' cannot be imported: {error}.") from None
        if not callable(factory):
            raise UserError(f"The environment factory '{env_id}' is no function that makes an environment.")
        return cast(EnvironmentFactory, factory)
    _check_known(env_id)
    return lambda: gym.make(env_id, disable_env_checker=True)


def _has_version(name: str) -> bool:
    return name.rpartition("-v")[2].isdigit()


def _check_known(env_id: str) -> None:
    try:
        gym.make(env_id, disable_env_checker=True).close()
    except gym.error.DependencyNotInstalled as error:
        raise UserError(f"'{env_id}' needs a package that is missing: {error}") from None
    except (gym.error.Error, ImportError, ValueError, TypeError) as error:
        raise UserError(f"'{env_id}' cannot be made: {error}{nearest(env_id, list(gym.registry))}") from None
