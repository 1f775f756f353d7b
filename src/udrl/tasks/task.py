"""What a task is: an environment, the values tuned for it, the return that solves it and its budget."""

import dataclasses

from udrl.config import Config


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    summary: str
    config: Config
    solved_return: float
    """The mean evaluation return at which the task counts as solved."""
    env_steps: int
    """The budget of environment steps."""
