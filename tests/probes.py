"""Environments that isolate one ability each, so that a broken part is found in seconds."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete

Step = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


class Probe(gym.Env[np.ndarray, Any]):
    """Shows its step number, scaled into (0, 1], and lasts `n_steps`."""

    n_steps = 1
    observation_space = Box(0.0, 1.0, (1,), np.float32)
    action_space: gym.Space[Any] = Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.total = 0, 0.0
        return self.observation(), {}

    def step(self, action: Any) -> Step:
        reward = self.reward(action)
        self.t += 1
        return self.observation(), reward, self.t >= self.n_steps, False, {}

    def observation(self) -> np.ndarray:
        # Never zero: a gated layer of zeros and ReLU passes on nothing, and no gradient either.
        return np.array([(self.t + 1) / (self.n_steps + 1)], np.float32)

    def reward(self, action: Any) -> float:
        raise NotImplementedError


class RewardIsAction(Probe):
    """One step; the action is the reward. An agent that learns at all obeys 0 and 1."""

    def reward(self, action: Any) -> float:
        return float(action)


class DelayedReward(Probe):
    """Five steps; only the first action counts, and is rewarded at the end."""

    n_steps = 5

    def reward(self, action: Any) -> float:
        if self.t == 0:
            self.first = float(action)
        return self.first if self.t == self.n_steps - 1 else 0.0


class CountedReward(Probe):
    """Eight steps; each action is a reward of 0 or 1: what is right depends on what is still desired."""

    n_steps = 8

    def reward(self, action: Any) -> float:
        return float(action)


class ContinuousAction(Probe):
    """One step; the reward is the action, from -3 to 3."""

    action_space = Box(-3.0, 3.0, (1,), np.float32)

    def reward(self, action: Any) -> float:
        return float(action[0])
