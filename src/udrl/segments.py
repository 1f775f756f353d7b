"""Training examples in hindsight: what a segment of an episode achieved becomes its command (Eq. 4)."""

from typing import Literal, NamedTuple

import numpy as np

from udrl.replay import Replay


class Examples(NamedTuple):
    """Inputs and targets of supervised learning; U updates of B examples each."""

    observations: np.ndarray  # [U, B, *observation]
    commands: np.ndarray  # [U, B, 2] float32: desired return, desired horizon
    actions: np.ndarray  # [U, B, k]


def sample_examples(
    replay: Replay,
    n_updates: int,
    batch_size: int,
    rng: np.random.Generator,
    segments: Literal["trailing", "any"] = "trailing",
    text_segments: bool = False,
) -> Examples:
    """Examples for a training phase: uniform over episodes, then over the time steps of the episode."""
    shape = (n_updates, batch_size)
    ranks = rng.integers(len(replay), size=shape)
    lengths = replay.lengths[ranks]
    # The text's t2 = T - 1 leaves t1 < T - 1 (but an episode of one step has no other start).
    n_starts = np.maximum(lengths - 1, 1) if text_segments else lengths
    starts = (rng.random(shape) * n_starts).astype(np.int64)
    ends = lengths
    if segments == "any":
        ends = starts + 1 + (rng.random(shape) * (lengths - starts)).astype(np.int64)
    observations, actions, returns = replay.gather(ranks, starts, "observations", "actions", "returns_to_go")
    if segments == "any":
        (after,) = replay.gather(ranks, np.minimum(ends, lengths - 1), "returns_to_go")
        returns = returns - np.where(ends < lengths, after, 0.0)
    horizons = np.maximum(ends - starts - 1, 1) if text_segments else ends - starts
    commands = np.stack([returns, horizons], axis=-1).astype(np.float32)
    return Examples(observations, commands, actions)
