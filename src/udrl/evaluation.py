"""The paper's evaluation: a fixed command, many episodes with seeds of their own (Section "Evaluation")."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from udrl.actions import Distribution
from udrl.command import Command
from udrl.environments import Environments
from udrl.rollout import Act, collect_episodes, environment_seed


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
) -> Evaluation:
    """Obey `command` in one episode per generator, with environment seeds from the paper's range for `seeds`."""
    environment_seeds = [environment_seed(rng, seeds) for rng in randomness]
    episodes = collect_episodes(environments, act, distribution, command, environment_seeds, randomness)
    returns = np.array([episode.total_return for episode in episodes])
    return Evaluation(command, returns, np.array([len(episode) for episode in episodes]))


def how_to_evaluate(evaluation_actions: Literal["auto", "sample", "mode"], is_discrete: bool) -> Literal["sample", "mode"]:
    """The paper follows convention: discrete actions are sampled, of continuous ones the mode is taken."""
    if evaluation_actions == "auto":
        return "sample" if is_discrete else "mode"
    return evaluation_actions
