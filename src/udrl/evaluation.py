"""The paper's evaluation: a fixed command, many episodes with seeds of their own (Section "Evaluation")."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.progress import track

from udrl.command import Command
from udrl.config import Config
from udrl.randomness import Purpose
from udrl.rollout import Batch, Collector, Parameters

AT_A_TIME = 100
"""Most episodes that run at a time: as many as the paper's evaluations have."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What n episodes under one command obtained."""

    command: Command
    returns: np.ndarray  # [n]
    lengths: np.ndarray  # [n]

    def summary(self) -> dict[str, Any]:
        """In numbers that go into a file or a table."""
        return {
            "desired_return": float(self.command.desired_return),
            "desired_horizon": float(self.command.desired_horizon),
            "return_mean": float(self.returns.mean()),
            "return_std": float(self.returns.std()),
            "return_min": float(self.returns.min()),
            "return_max": float(self.returns.max()),
            "length_mean": float(self.lengths.mean()),
            "episodes": len(self.returns),
        }


def evaluate(collector: Collector, parameters: Parameters, batch: Batch, quiet: bool = True) -> Evaluation:
    """Obey one command in all episodes of a batch."""
    returns, lengths = [], []
    for start in _starts(len(batch.episodes), quiet):
        episodes = collector.collect(parameters, batch.part(start, start + AT_A_TIME))
        returns += [episode.total_return for episode in episodes]
        lengths += [len(episode) for episode in episodes]
    return Evaluation(batch.command[0], np.array(returns), np.array(lengths))


def evaluation_batch(
    command: Command, config: Config, is_discrete: bool, seed: int, iteration: int, n: int | None = None
) -> Batch:
    """The paper's evaluation of `command`: which episodes, how they act."""
    n = n or config.n_evaluation_episodes
    same = Command(np.full(n, float(command.desired_return)), np.full(n, float(command.desired_horizon)))
    how = how_to_evaluate(config.evaluation_actions, is_discrete)
    return Batch(how, same, seed, Purpose.EVALUATION, iteration, range(n), config.evaluation_seeds, is_bounded=True)


def _starts(n: int, quiet: bool) -> Iterable[int]:
    """Where each part begins, with a bar on a terminal where there are many."""
    starts = range(0, n, AT_A_TIME)
    console = Console(stderr=True)
    is_hidden = quiet or len(starts) == 1 or not console.is_terminal
    return track(starts, "evaluating", console=console, transient=True, disable=is_hidden)


def how_to_evaluate(
    evaluation_actions: Literal["auto", "sample", "mode"], is_discrete: bool
) -> Literal["sample", "mode"]:
    """The paper follows convention: discrete actions are sampled, of continuous ones the mode is taken."""
    if evaluation_actions == "auto":
        return "sample" if is_discrete else "mode"
    return evaluation_actions
