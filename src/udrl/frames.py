"""The newest observations of an episode, stacked, for tasks that one observation does not tell enough of."""

import numpy as np


class Stack:
    """The newest k observations of each of n running episodes, the oldest first; what came before the first is the
    first again. With k = 1 there is no stack: an observation is what it is."""

    def __init__(self, first: np.ndarray, k: int) -> None:
        self._k = k
        self.newest = first  # [n, *observation]
        self._stack = first if k == 1 else np.repeat(first[:, None], k, axis=1)

    @property
    def observations(self) -> np.ndarray:  # [n, k, *observation], or [n, *observation]
        """What the behavior function sees."""
        return self._stack

    def push(self, newest: np.ndarray) -> None:
        """One step on."""
        self.newest = newest
        self._stack = newest if self._k == 1 else np.concatenate([self._stack[:, 1:], newest[:, None]], axis=1)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the episodes."""
        self.newest, self._stack = self.newest[which], self._stack[which]


def stacked_shape(shape: tuple[int, ...], k: int) -> tuple[int, ...]:
    """The shape of what the behavior function sees."""
    return shape if k == 1 else (k, *shape)


def stacked_steps(steps: np.ndarray, k: int) -> np.ndarray:  # [...] -> [..., k], or [...]
    """The steps of an episode whose observations are seen at `steps`."""
    return steps if k == 1 else np.maximum(steps[..., None] + np.arange(1 - k, 1), 0)
