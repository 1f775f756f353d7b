"""The tasks that have a name: data only, one file each."""

from udrl.errors import UserError, nearest
from udrl.tasks.cartpole import CARTPOLE
from udrl.tasks.inverted_double_pendulum import INVERTED_DOUBLE_PENDULUM, INVERTED_DOUBLE_PENDULUM_SPARSE
from udrl.tasks.lunarlander import LUNARLANDER
from udrl.tasks.lunarlander_sparse import LUNARLANDER_SPARSE
from udrl.tasks.swimmer import SWIMMER, SWIMMER_SPARSE
from udrl.tasks.takecover import TAKECOVER, TAKECOVER_SMALL
from udrl.tasks.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        CARTPOLE,
        LUNARLANDER,
        LUNARLANDER_SPARSE,
        SWIMMER,
        SWIMMER_SPARSE,
        INVERTED_DOUBLE_PENDULUM,
        INVERTED_DOUBLE_PENDULUM_SPARSE,
        TAKECOVER,
        TAKECOVER_SMALL,
    )
}


def find_task(name: str) -> Task:
    """The task called `name`."""
    if name not in TASKS:
        known = ", ".join(TASKS)
        raise UserError(
            f"There is no task '{name}'.{nearest(name, list(TASKS))} Tasks are {known}; "
            "any other Gymnasium environment goes by --env-id."
        )
    return TASKS[name]
