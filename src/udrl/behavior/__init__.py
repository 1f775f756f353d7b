"""The behavior function: command conditioning, body, and the tabular one of Eq. 3."""

from udrl.behavior.function import BehaviorFunction, CommandInput, Network, make_behavior, split
from udrl.behavior.tabular import TabularBehavior

__all__ = ["BehaviorFunction", "CommandInput", "Network", "TabularBehavior", "make_behavior", "split"]
