"""`udrl tasks`."""

import dataclasses

from udrl.commands.parsing import parse, print_table
from udrl.tasks import TASKS


@dataclasses.dataclass(frozen=True)
class TasksArguments:
    """List tasks; any other Gymnasium environment goes by --env-id."""


def main(arguments: list[str]) -> None:
    parse(TasksArguments, arguments, "udrl tasks")
    rows = [
        [task.name, task.config.env_id, f"{task.solved_return:g}", f"{task.env_steps:,}", task.summary]
        for task in TASKS.values()
    ]
    print_table(["task", "environment", "solved at", "steps", "what it is"], rows)
    print("Any other Gymnasium environment: udrl train --env-id Acrobot-v1, or --env-id module:function")
