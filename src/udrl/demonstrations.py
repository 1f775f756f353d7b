"""Episodes of somebody else's, for the replay: recorded from any policy, kept in a file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from udrl import checkpoint
from udrl.episode import Episode, pack_episodes, unpack_episodes
from udrl.errors import UserError
from udrl.spaces import Actions, Observations, spaces_of


def record_episode(environment: gym.Env[Any, Any], policy: Callable[[Any], Any], seed: int | None = None) -> Episode:
    """One episode of `policy`, a function from the environment's observation to its action."""
    observations, actions = spaces_of(environment)
    seen, done, earned = [], [], []
    observation, _ = environment.reset(seed=seed)
    terminated = truncated = False
    while not (terminated or truncated):
        action = policy(observation)
        seen.append(observations.encode(observation))
        done.append(actions.encode(action))
        observation, reward, terminated, truncated, _ = environment.step(action)
        earned.append(float(reward))
    return Episode(np.stack(seen), np.stack(done), np.array(earned), bool(terminated))


def save_episodes(path: str | Path, episodes: Sequence[Episode]) -> None:
    """Write episodes into a file that `udrl train --demonstrations` takes."""
    if not episodes:
        raise UserError("There are no episodes to save.")
    checkpoint.save(Path(path), "episodes", pack_episodes(episodes), {})


def load_episodes(path: str | Path) -> list[Episode]:
    """The episodes of a file."""
    arrays, _ = checkpoint.load(Path(path), "episodes")
    return unpack_episodes(arrays)


def check_episodes(episodes: Sequence[Episode], observations: Observations, actions: Actions) -> None:
    """Refuse episodes of another environment."""
    for i, episode in enumerate(episodes):
        wanted = (observations.shape, observations.dtype), ((actions.k,), actions.dtype)
        given = tuple((array.shape[1:], array.dtype) for array in (episode.observations, episode.actions))
        if wanted != given:
            raise UserError(f"Demonstration {i} does not fit the environment: it has {given}, not {wanted}.")
        chosen = episode.actions
        if actions.is_discrete and ((chosen < 0) | (chosen >= np.array(actions.sizes))).any():
            raise UserError(f"Demonstration {i} has an action that the environment does not have.")
        if not np.isfinite(chosen).all():
            raise UserError(f"Demonstration {i} has an action that is not finite.")
