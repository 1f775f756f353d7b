"""The tasks that have a name: data only, one file each."""

from udrl.errors import UserError, nearest
from udrl.tasks.cartpole import CARTPOLE
from udrl.tasks.lunarlander import LUNARLANDER
from udrl.tasks.lunarlander_sparse import LUNARLANDER_SPARSE
from udrl.tasks.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (CARTPOLE, LUNARLANDER, LUNARLANDER_SPARSE)}


def find_task(name: str) -> Task:
    """The task called `name`."""
    if name not in TASKS:
        known = ", ".join(TASKS)
        raise UserError(
            f"There is no task '{name}'.{nearest(name, list(TASKS))} Tasks are {known}; "
            "any other Gymnasium environment goes by --env-id."
        )
    return TASKS[name]
