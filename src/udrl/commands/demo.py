"""`udrl demo`."""

import dataclasses
from pathlib import Path

from udrl.commands.parsing import parse
from udrl.commands.play import Serving, play

ORDERS = (20, 60, 150, 300, 500)
"""What the agent is asked for where there is no page to ask it on."""


@dataclasses.dataclass(frozen=True)
class DemoArguments(Serving):
    """Command two agents that come with udrl, of CartPole and LunarLander, before training anything.

    Install the page with pip install 'udrl[play]'; without it the agent of CartPole obeys some orders in the terminal.
    """


def main(arguments: list[str]) -> None:
    parsed = parse(DemoArguments, arguments, "udrl demo")
    from udrl.cores import limit_cores

    limit_cores(1)
    from udrl.page.agents import has_extra

    agents = Path(__file__).parent.parent / "page" / "pretrained"
    if has_extra():
        play(agents, parsed)
    else:
        obey_in_terminal(agents / "cartpole.safetensors")


def obey_in_terminal(path: Path) -> None:
    """Some orders, and what they obtain."""
    from udrl.agent import Agent
    from udrl.command import Command

    agent = Agent.load(path)
    print("One agent, many orders: balance the pole for so many steps, then let it fall.")
    for order in ORDERS:
        result = agent.evaluate(Command(float(order), float(order)), episodes=10).summary()
        print(f"  desired {order:>3}  obtained {result['return_mean']:5.1f} ± {result['return_std']:.1f}", flush=True)
    print("To command it yourself and watch it obey, on a page in the browser: pip install 'udrl[play]'")
