"""What all tests share: one core, checked shapes and types, reproducible properties, a small environment."""

import os

os.environ["NPROC"] = "1"

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import hypothesis
import jax
import jaxtyping
import numpy as np

jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("udrl", deadline=None, derandomize=True, max_examples=40, database=None)
hypothesis.settings.load_profile("udrl")

# The modules that compute with JAX.
jaxtyping.install_import_hook(["udrl.actions", "udrl.behavior", "udrl.learner"], "beartype.beartype")

from udrl.episode import Episode  # noqa: E402 (the hook comes first)


class Countdown(gym.Env[np.ndarray, Any]):
    """Ends after 1 + seed % `longest` steps; observes (seed, step); step t earns 10 t + action."""

    def __init__(self, longest: int = 5) -> None:
        self.longest = longest
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.seed_of_episode, self.t = 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        assert seed is not None
        self.seed_of_episode, self.t = seed, 0
        return self.observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self.observe(), 10.0 * self.t + action, self.t == self.length(), False, {}

    def observe(self) -> np.ndarray:
        return np.array([self.seed_of_episode, self.t], np.float32)

    def length(self) -> int:
        return 1 + self.seed_of_episode % self.longest


def make_episode(rewards: Sequence[float] | np.ndarray, label: int = 0, terminated: bool = True) -> Episode:
    """An episode whose observations are (label, step) and whose actions count the steps from the label."""
    n = len(rewards)
    observations = np.stack([np.full(n, label), np.arange(n)], axis=1).astype(np.float32)
    actions = (label + np.arange(n, dtype=np.int32))[:, None]
    return Episode(observations, actions, np.array(rewards, np.float64), terminated)
