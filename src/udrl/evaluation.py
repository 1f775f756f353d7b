"""The paper's evaluation: a fixed command, many episodes with seeds of their own (Section "Evaluation")."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.progress import track

from udrl.actions import Distribution
from udrl.command import Command
from udrl.environments import Environments
from udrl.rollout import Act, collect_episodes, environment_seed

BATCH = 100
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


def evaluate(
    environments: Environments,
    act: Act,
    distribution: Distribution,
    command: Command,
    randomness: Sequence[np.random.Generator],
    seeds: Literal["final", "tuning"] = "final",
    quiet: bool = True,
) -> Evaluation:
    """Obey `command` in one episode per generator, with environment seeds from the paper's range for `seeds`."""
    environment_seeds = [environment_seed(rng, seeds) for rng in randomness]
    returns, lengths = [], []
    for start in _batches(len(randomness), quiet):
        part = slice(start, start + BATCH)
        episodes = collect_episodes(environments, act, distribution, command, environment_seeds[part], randomness[part])
        returns += [episode.total_return for episode in episodes]
        lengths += [len(episode) for episode in episodes]
    return Evaluation(command, np.array(returns), np.array(lengths))


def _batches(n: int, quiet: bool) -> Iterable[int]:
    """Where each batch starts, with a bar on a terminal where there are many."""
    starts = range(0, n, BATCH)
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
