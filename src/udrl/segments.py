"""Training examples in hindsight: what a segment of an episode achieved becomes its command (Eq. 4)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from udrl.config import Config
from udrl.frames import stacked_steps
from udrl.replay import Replay


class Segments(NamedTuple):
    """Where the segments of a training phase lie; U updates of B segments each."""

    ranks: np.ndarray  # [U, B] episodes, by their rank in the replay
    starts: np.ndarray  # [U, B] t1
    ends: np.ndarray  # [U, B] t2: [t1, t2)


class Examples(NamedTuple):
    """Inputs and targets of supervised learning; U updates of B examples each."""

    observations: np.ndarray  # [U, B, *observation], or stacks of them
    commands: np.ndarray  # [U, B, 2] float32: desired return, desired horizon
    actions: np.ndarray  # [U, B, k]


MOST_BYTES = 256 << 20
"""Observations of so many bytes are gathered at a time: those of a whole training phase on images do not fit."""


def sample_examples(replay: Replay, config: Config, rng: np.random.Generator) -> Iterator[Examples]:
    """Examples for a training phase, in parts of as many updates each."""
    segments = sample_segments(replay, config, rng)
    n = config.n_updates_per_iter
    at_most = max(MOST_BYTES // (replay.observation_bytes * config.frame_stack * config.batch_size), 1)
    part = max(size for size in range(1, min(at_most, n) + 1) if n % size == 0)
    for first in range(0, n, part):
        some = Segments(*(field[first : first + part] for field in segments))
        yield examples_of(replay, some, config)


def sample_segments(replay: Replay, config: Config, rng: np.random.Generator) -> Segments:
    """Uniform over episodes, then over the time steps of the episode."""
    shape = (config.n_updates_per_iter, config.batch_size)
    ranks = rng.integers(len(replay), size=shape)
    lengths = replay.lengths[ranks]
    # The text's t2 = T - 1 leaves t1 < T - 1 (but an episode of one step has no other start).
    n_starts = np.maximum(lengths - 1, 1) if config.text_segments else lengths
    starts = (rng.random(shape) * n_starts).astype(np.int64)
    ends = lengths
    if config.segments == "any":
        ends = starts + 1 + (rng.random(shape) * (lengths - starts)).astype(np.int64)
    return Segments(ranks, starts, ends)


def examples_of(replay: Replay, segments: Segments, config: Config) -> Examples:
    """What was seen and done at the start of each segment, and what the segment achieved."""
    ranks, starts, ends = segments
    observations, actions, returns = _gather(replay, ranks, starts, config.frame_stack)
    if config.segments == "any":
        lengths = replay.lengths[ranks]
        (after,) = replay.gather(ranks, np.minimum(ends, lengths - 1), "returns_to_go")
        returns = returns - np.where(ends < lengths, after, 0.0)
    if config.target_actions == "executed" and np.issubdtype(actions.dtype, np.floating):
        # A rare sample far outside of the bounds would count many thousand times as much as all others together.
        actions = np.clip(actions, -1.0, 1.0)
    horizons = np.maximum(ends - starts - 1, 1) if config.text_segments else ends - starts
    commands = np.empty((*starts.shape, 2), np.float32)
    commands[..., 0], commands[..., 1] = returns, horizons
    return Examples(observations, commands, actions)


def _gather(replay: Replay, ranks: np.ndarray, starts: np.ndarray, frame_stack: int) -> list[np.ndarray]:
    """Observations, actions and returns-to-go at the starts."""
    if frame_stack == 1:
        return replay.gather(ranks, starts, "observations", "actions", "returns_to_go")
    stacks = replay.gather(ranks[..., None], stacked_steps(starts, frame_stack), "observations")
    return stacks + replay.gather(ranks, starts, "actions", "returns_to_go")
