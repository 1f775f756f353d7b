"""The behavior function of a set of episodes by counting segments (Eq. 3): exact, and the oracle of the tests."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

Step = tuple[Hashable, Hashable, float]
"""(state, action, reward)"""


class TabularBehavior:
    """B(a | s, d^r, d^h): among all segments from s with that return and length, how many begin with a."""

    def __init__(self, trajectories: Iterable[Sequence[Step]]) -> None:
        self._counts: defaultdict[tuple[Hashable, float, int], Counter[Hashable]] = defaultdict(Counter)
        for trajectory in trajectories:
            for t1, (state, action, _) in enumerate(trajectory):
                total = 0.0
                for t2 in range(t1 + 1, len(trajectory) + 1):
                    total += trajectory[t2 - 1][2]
                    self._counts[state, total, t2 - t1][action] += 1

    def commands(self) -> list[tuple[Hashable, float, int]]:
        """Every (state, desired return, desired horizon) that has been seen."""
        return list(self._counts)

    def probabilities(self, state: Hashable, desired_return: float, desired_horizon: int) -> dict[Hashable, float]:
        """The distribution over actions; empty where no segment fits."""
        counts = self._counts.get((state, desired_return, desired_horizon), Counter())
        return {action: n / counts.total() for action, n in counts.items()}

    def __call__(self, action: Hashable, state: Hashable, desired_return: float, desired_horizon: int) -> float:
        """The probability of `action`, the paper's B(a, s, d^r, d^h)."""
        return self.probabilities(state, desired_return, desired_horizon).get(action, 0.0)
