"""What `udrl evaluate` and `udrl render` share: an agent, and what is asked of it."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

if TYPE_CHECKING:
    from udrl.agent import Agent
    from udrl.command import Command
    from udrl.engines import EnvironmentFactory


@dataclasses.dataclass(frozen=True)
class Order:
    """An agent and a command."""

    run: tyro.conf.Positional[Path]
    """A run folder or an agent file."""
    desired_return: float | None = None
    """Return to ask for; without it the mean of the best episodes at the end of training."""
    desired_horizon: float | None = None
    """Steps to ask for; without it the mean length of the best episodes at the end of training."""
    seed: int = 0
    """Which of the evaluation episodes: the same seed gives the same episodes."""
    best: bool = False
    """Take the run's best-evaluated agent instead of the newest."""
    env_id: str | None = None
    """The environment, for an agent of a factory module:function: a file alone never decides what is imported."""

    def agent(self) -> "Agent":
        """The agent that is commanded."""
        from udrl.cores import limit_cores

        limit_cores(1)
        from udrl.agent import Agent

        return Agent.load(self.run, best=self.best)

    def command(self, agent: "Agent") -> "Command":
        """What was asked for, the rest as in the paper's evaluation."""
        from udrl.command import Command

        usual, desired_return, desired_horizon = agent.evaluation_command, self.desired_return, self.desired_horizon
        if desired_return is None:
            desired_return = float(usual.desired_return)
        if desired_horizon is None:
            desired_horizon = desired_return if agent.config.horizon_is_return else float(usual.desired_horizon)
        return Command(desired_return, desired_horizon)

    def environment(self, render_mode: str | None = None) -> "EnvironmentFactory | None":
        """What makes the environment, if it was named."""
        from udrl.engines import find_environment

        return None if self.env_id is None else find_environment(self.env_id, render_mode)


def print_if_unseen(agent: "Agent", command: "Command") -> None:
    """A line about an order that the agent's training says nothing about."""
    low, high = agent.experience.return_min, agent.experience.return_max
    if not low <= float(command.desired_return) <= high:
        print(f"The agent has only seen returns from {low:.1f} to {high:.1f}: this order is outside of them.")
