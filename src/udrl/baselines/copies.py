"""The environments that UDRL trains in, as Stable-Baselines3 wants them: the same observations, actions and rewards."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

from udrl.baselines.settings import Baseline
from udrl.behavior.body import channels_first, is_image
from udrl.engines import EnvironmentFactory, make_engine
from udrl.environments import Environments
from udrl.frames import Stack, stacked_shape
from udrl.randomness import Purpose, generator
from udrl.rollout import environment_seed
from udrl.spaces import Actions

Ended = tuple[float, int]
"""The return and the length of an episode."""


class Copy(gym.Env[np.ndarray, Any]):
    """One environment of a task: each episode's environment seed follows from the run's seed, as UDRL's does."""

    def __init__(
        self, environments: Environments, seed: int, number: int, tell: Callable[[Ended], None], reward_scale: float
    ) -> None:
        self._environments, self._seed, self._number = environments, seed, number
        self._tell, self._reward_scale = tell, reward_scale
        self._episodes, self._rewards = 0, np.empty(0)
        self.observation_space = observation_space(environments)
        self.action_space = action_space(environments.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin the next episode; its seed is the protocol's, whatever the library asks for."""
        rng = generator(self._seed, Purpose.EXPLORATION, self._number, self._episodes)
        self._episodes += 1
        first = self._environments.start([environment_seed(rng, "training")])
        self._stack = Stack(first, self._environments.frame_stack)
        self._total, self._length = 0.0, 0
        return as_seen(self._stack.observations)[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        result = self._environments.step(ONE, np.reshape(action, (1, -1)))
        self._stack.push(result.observations)
        reward, terminated, truncated = float(result.rewards[0]), bool(result.terminated[0]), bool(result.truncated[0])
        self._total += reward
        self._length += 1
        if terminated or truncated:
            self._tell((self._total, self._length))
        return as_seen(self._stack.observations)[0], reward * self._reward_scale, terminated, truncated, {}

    def close(self) -> None:
        self._environments.close()


ONE = np.zeros(1, np.int64)


def make_environments(settings: Baseline, factory: EnvironmentFactory | None) -> Environments:
    """Gymnasium's copies of the task, with its reward and its limit."""
    engine = make_engine("gymnasium", settings.env_id, factory)
    return Environments(engine, settings.sparse, settings.max_episode_steps, settings.frame_stack)


def make_copies(settings: Baseline, factory: EnvironmentFactory | None, ended: list[Ended]) -> VecEnv:
    """What an algorithm trains in, normalized if the settings say so; episodes that end are added to `ended`."""
    n, scale = getattr(settings, "n_envs", 1), getattr(settings, "reward_scale", 1.0)

    def maker(number: int) -> Callable[[], gym.Env[Any, Any]]:
        return lambda: Copy(make_environments(settings, factory), settings.seed, number, ended.append, scale)

    copies = DummyVecEnv([maker(number) for number in range(n)])
    if not (settings.normalize_observations or settings.normalize_returns):
        return copies
    return VecNormalize(
        copies,
        norm_obs=settings.normalize_observations,
        norm_reward=settings.normalize_returns,
        gamma=settings.gamma,
    )


def action_space(actions: Actions) -> gym.Space[Any]:
    """Actions as the behavior function gives them: choices, or numbers in [-1, 1]."""
    if not actions.is_discrete:
        return Box(-1.0, 1.0, (actions.k,), np.float32)
    return Discrete(actions.sizes[0]) if len(actions.sizes) == 1 else MultiDiscrete(list(actions.sizes))


def observation_space(environments: Environments) -> Box:
    """Observations as the network sees them: stacked, images with their channels first."""
    observations = environments.observations
    shape = stacked_shape(observations.shape, environments.frame_stack)
    if is_image(shape, observations.dtype == np.uint8):
        return Box(0, 255, channels_first(shape), np.uint8)
    low, high = (0, 255) if observations.dtype == np.uint8 else (-np.inf, np.inf)
    return Box(low, high, shape, observations.dtype.type)


def as_seen(observations: np.ndarray) -> np.ndarray:  # [n, *stack] -> [n, *observation_space.shape]
    """The same numbers, images with their channels first."""
    shape = observations.shape[1:]
    if not is_image(shape, observations.dtype == np.uint8):
        return observations
    if len(shape) == 2:
        return observations[:, None]
    if len(shape) == 4:
        return np.concatenate([as_seen(observations[:, i]) for i in range(shape[0])], axis=1)
    return observations if channels_first(shape) == shape else np.moveaxis(observations, -1, 1)
