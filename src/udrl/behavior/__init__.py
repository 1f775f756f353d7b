"""The behavior function: command conditioning, body, and the tabular one of Eq. 3."""

from udrl.behavior.body import Conv
from udrl.behavior.function import BehaviorFunction, CommandInput, Network, make_behavior, split
from udrl.behavior.tabular import TabularBehavior

__all__ = ["BehaviorFunction", "CommandInput", "Conv", "Network", "TabularBehavior", "make_behavior", "split"]
