"""Orders that a person may begin with, and the scale on which orders are shown."""

import dataclasses
import math

import numpy as np

from udrl.agent import Agent
from udrl.command import Command

LONG_TAIL = 3.0
"""The worst episode seen lies so many times farther below zero than the best lies above: one crash of thousands."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """Where a return lies between the ends of a dial: evenly, or more densely the farther it is from the top."""

    low: float
    high: float
    width: float | None
    """Distance from the top within which the scale is about even; None: even all over."""

    def place(self, value: float) -> float:
        """From 0 (low) to 1 (high)."""
        if self.width is None:
            return (value - self.low) / (self.high - self.low)
        return 1 - math.asinh((self.high - value) / self.width) / math.asinh((self.high - self.low) / self.width)

    def value(self, place: float) -> float:
        """What lies there: the inverse of `place`."""
        if self.width is None:
            return self.low + place * (self.high - self.low)
        return self.high - self.width * math.sinh((1 - place) * math.asinh((self.high - self.low) / self.width))


def scale_of(agent: Agent) -> Scale:
    """The returns an agent has seen. A task may punish without limit: then bad returns are drawn together."""
    low, high = agent.experience.return_min, agent.experience.return_max
    if not (math.isfinite(low) and math.isfinite(high)):  # nothing seen
        low, high = 0.0, 1.0
    if low == high:
        low, high = low - 1.0, high + 1.0
    is_long = high > 0 and -low > LONG_TAIL * high
    return Scale(low, high, high / 3 if is_long else None)


def horizon_for(agent: Agent, desired_return: float, otherwise: float) -> float:
    """The horizon that goes with a return where the task ties them together."""
    return max(desired_return, 1.0) if agent.config.horizon_is_return else otherwise


def presets(agent: Agent) -> dict[str, Command]:
    """Orders by name, each of a return and a horizon that go together."""
    seen, scale, usual = agent.experience, scale_of(agent), agent.evaluation_command
    horizon, most = float(usual.desired_horizon), agent.exploratory_commands[1]
    if agent.config.max_return is not None:
        most = min(most, agent.config.max_return)
    middle = scale.value(0.5)
    orders = {
        "best": (most, horizon),
        "middling": (middle, (horizon + max(seen.horizon_min, 1)) / 2),
        "worst": (scale.low, float(max(seen.horizon_min, 1))),
    }
    tied = {
        name: Command(_rounded(value), round(horizon_for(agent, _rounded(value), steps)))
        for name, (value, steps) in orders.items()
    }
    return {**tied, "evaluation": usual}


def spread_orders(agent: Agent, n: int, horizon: float) -> list[Command]:
    """Orders over the whole range that the agent has seen, so that any first few of them are spread over it too."""
    scale, golden = scale_of(agent), (math.sqrt(5) - 1) / 2
    values = [scale.value(place) for place in ((0.5 + i * golden) % 1 for i in range(n))]
    whole = np.trunc(values).tolist() if agent.config.horizon_is_return else values
    return [Command(value, horizon_for(agent, value, horizon)) for value in whole]


def _rounded(value: float) -> float:
    return float(round(value, 1)) if abs(value) < 100 else float(round(value))
