"""`udrl evaluate`."""

import dataclasses
from pathlib import Path
from typing import Any

import tyro

from udrl.commands.parsing import parse
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class EvaluateArguments:
    """Command an agent in many episodes and see what it obtains."""

    run: tyro.conf.Positional[Path]
    """A run folder or an agent file."""
    desired_return: float | None = None
    """Return to ask for; without it the mean of the best episodes at the end of training."""
    desired_horizon: float | None = None
    """Steps to ask for; without it the mean length of the best episodes at the end of training."""
    episodes: int = 100
    """Number of episodes."""
    seed: int = 0
    """Which of the evaluation episodes: the same seed gives the same episodes."""
    best: bool = False
    """Take the run's best-evaluated agent instead of the newest."""
    env_id: str | None = None
    """The environment, for an agent of a factory module:function: a file alone never decides what is imported."""
    json: bool = False
    """Print one JSON object."""


def main(arguments: list[str]) -> None:
    parsed = parse(EvaluateArguments, arguments, "udrl evaluate")
    if parsed.episodes < 1 or parsed.seed < 0:
        raise UserError("episodes must be at least 1, and seed not negative.")
    from udrl.cores import limit_cores

    limit_cores(1)
    from udrl.agent import Agent
    from udrl.engines import find_environment

    agent = Agent.load(parsed.run, best=parsed.best)
    command = _command(agent, parsed.desired_return, parsed.desired_horizon)
    environment = None if parsed.env_id is None else find_environment(parsed.env_id)
    summary = agent.evaluate(command, parsed.episodes, parsed.seed, environment, quiet=parsed.json).summary()
    if parsed.json:
        import json

        print(json.dumps(summary))
        return
    print(
        f"desired {summary['desired_return']:.1f} in {summary['desired_horizon']:.0f} steps\n"
        f"obtained {summary['return_mean']:.1f} ± {summary['return_std']:.1f} "
        f"(from {summary['return_min']:.1f} to {summary['return_max']:.1f}) "
        f"in {summary['length_mean']:.0f} steps, {summary['episodes']} episodes"
    )
    low, high = agent.experience.return_min, agent.experience.return_max
    if not low <= summary["desired_return"] <= high:
        print(f"The agent has only seen returns from {low:.1f} to {high:.1f}: this order is outside of them.")


def _command(agent: Any, desired_return: float | None, desired_horizon: float | None) -> Any:
    """What was asked for, the rest as in the paper's evaluation."""
    from udrl.command import Command

    usual = agent.evaluation_command
    if desired_return is None:
        desired_return = float(usual.desired_return)
    if desired_horizon is None:
        desired_horizon = desired_return if agent.config.horizon_is_return else float(usual.desired_horizon)
    return Command(desired_return, desired_horizon)
