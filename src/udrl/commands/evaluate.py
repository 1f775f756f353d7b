"""`udrl evaluate`."""

import dataclasses

from udrl.commands.order import Order, print_if_unseen
from udrl.commands.parsing import parse
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class EvaluateArguments(Order):
    """Command an agent in many episodes and see what it obtains."""

    episodes: int = 100
    """Number of episodes."""
    json: bool = False
    """Print one JSON object."""


def main(arguments: list[str]) -> None:
    parsed = parse(EvaluateArguments, arguments, "udrl evaluate")
    if parsed.episodes < 1 or parsed.seed < 0:
        raise UserError("episodes must be at least 1, and seed not negative.")
    agent = parsed.agent()
    command, environment = parsed.command(agent), parsed.environment()
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
    print_if_unseen(agent, command)
