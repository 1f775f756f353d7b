"""One episode as arrays, and many episodes packed into few arrays for a file."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from udrl.errors import UserError


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """T steps: what was seen, what was done about it, what it earned."""

    observations: np.ndarray  # [T, *observation]
    actions: np.ndarray  # [T, k] as the behavior function chose them, before clipping
    rewards: np.ndarray  # [T] float64
    terminated: bool = True
    """The environment ended it, rather than a time limit."""

    def __post_init__(self) -> None:
        fits = self.rewards.ndim == 1 and 0 < len(self.rewards) == len(self.observations) == len(self.actions)
        if not fits:
            raise UserError("An episode needs as many observations and actions as rewards, and at least one.")
        if not (np.isfinite(self.returns_to_go).all() and np.isfinite(self.observations).all()):
            raise UserError("An episode's observations, rewards and returns must be finite.")

    def __len__(self) -> int:
        return len(self.rewards)

    @cached_property
    def returns_to_go(self) -> np.ndarray:  # [T] float64
        """The sum of the rewards from each step to the end."""
        return np.cumsum(self.rewards[::-1], dtype=np.float64)[::-1]

    @property
    def total_return(self) -> float:
        return float(self.returns_to_go[0])


def pack_episodes(episodes: Sequence[Episode]) -> dict[str, np.ndarray]:
    """The steps of all episodes one after the other, and the length of each."""
    return {
        "observations": np.concatenate([episode.observations for episode in episodes]),
        "actions": np.concatenate([episode.actions for episode in episodes]),
        "rewards": np.concatenate([episode.rewards for episode in episodes]),
        "lengths": np.array([len(episode) for episode in episodes], np.int64),
        "terminated": np.array([episode.terminated for episode in episodes], bool),
    }


def unpack_episodes(arrays: Mapping[str, np.ndarray]) -> list[Episode]:
    """The inverse of `pack_episodes`; arrays that do not fit each other are refused."""
    try:
        observations, actions, rewards = arrays["observations"], arrays["actions"], arrays["rewards"]
        lengths, terminated = arrays["lengths"], arrays["terminated"]
    except KeyError as missing:
        raise UserError(f"The episodes lack their {missing}.") from None
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or terminated.shape != lengths.shape:
        raise UserError("The episodes' lengths and ends must be as many whole numbers.")
    if (lengths < 1).any() or any(int(lengths.sum()) != len(part) for part in (observations, actions, rewards)):
        raise UserError("The episodes' lengths do not add up to their steps.")
    ends = np.cumsum(lengths)
    return [
        Episode(observations[end - n : end], actions[end - n : end], rewards[end - n : end], bool(how))
        for n, end, how in zip(lengths, ends, terminated, strict=True)
    ]
