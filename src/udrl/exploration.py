"""The next commands, from the replay's best episodes (Sections "Sampling Exploratory Commands" and "Evaluation")."""

import dataclasses
from collections.abc import Callable

import numpy as np

from udrl.command import Command
from udrl.config import Config
from udrl.replay import Replay

ExplorationRule = Callable[[Replay, int, np.random.Generator], Command]
"""A rule of the user's own: (replay, number of episodes n, random numbers) -> commands of shape [n]."""


@dataclasses.dataclass(frozen=True)
class Aim:
    """What the best `last_few` episodes achieved: where exploration starts and what evaluation asks for."""

    mean_return: float
    """M"""
    std_return: float
    """S, of the population"""
    horizon: float
    """Their mean length."""
    horizon_is_return: bool = False

    def evaluation_command(self) -> Command:
        """Return M, the lower bound of the exploratory returns, in the same horizon."""
        return self._command(self.mean_return)

    def exploratory_commands(self, n: int, rng: np.random.Generator) -> Command:  # [n]
        """Returns from U[M, M + S], one per episode; the horizon is shared."""
        return self._command(self.mean_return + self.std_return * rng.random(n))

    def _command(self, desired_return: float | np.ndarray) -> Command:
        if self.horizon_is_return:
            desired_return = np.trunc(desired_return)
            return Command(desired_return, desired_return)
        return Command(desired_return, self.horizon + 0.0 * desired_return)


def aim_at_best(replay: Replay, config: Config) -> Aim:
    """The aim that the replay's best `last_few` episodes set."""
    returns, lengths = replay.returns[-config.last_few :], replay.lengths[-config.last_few :]
    horizon = float(lengths.mean())
    if config.integer_horizon:
        horizon = float(int(horizon))
    return Aim(float(returns.mean()), float(returns.std()), horizon, config.horizon_is_return)
