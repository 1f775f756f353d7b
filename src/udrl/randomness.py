"""Random numbers as a function of (seed, purpose, iteration, episode): no generator state to keep or to disturb."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What random numbers are for. The values are part of every run's result: never renumber them."""

    INITIAL_WEIGHTS = 0
    WARM_UP = 1
    COMMANDS = 2
    EXPLORATION = 3
    SEGMENTS = 4
    EVALUATION = 5
    DEPLOYMENT = 6


def generator(seed: int, purpose: Purpose, iteration: int = 0, episode: int = 0) -> np.random.Generator:
    """A generator of its own for each combination of arguments."""
    return np.random.default_rng((seed, purpose, iteration, episode))
