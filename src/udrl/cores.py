"""How many cores a run may use: decided before JAX starts, since it reads this once."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from filelock import BaseFileLock, FileLock, Timeout

from udrl.errors import UserError

if TYPE_CHECKING:
    from jax.sharding import Mesh

SHARE = "share"
"""The mesh's axis, along which its devices share a batch."""

LEAST_SHARED = 4_000_000
"""Examples times parameters of a network below which devices wait for each other longer than they save."""


def limit_cores(threads: int) -> None:
    """Have JAX compute with so many threads: one device each, that computes in its own thread.

    Without effect where JAX has begun to compute, whose answer is kept.
    """
    # NPROC is how many threads XLA's pool gets; more than that it never uses, so runs do not disturb each other.
    os.environ["NPROC"] = str(threads)
    flags = os.environ.get("XLA_FLAGS", "")
    if "multi_thread_eigen" not in flags:  # else XLA hands even single products over to its pool, and waits
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    import jax
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, "blas")  # NumPy has only small products, over which its threads would fight for the cores
    with contextlib.suppress(RuntimeError):  # it has begun
        jax.config.update("jax_num_cpu_devices", threads)
    # Small networks on a CPU: waking another thread up takes several times longer than what it computes.
    jax.config.update("jax_cpu_enable_async_dispatch", False)


def choose_mesh(wanted: Literal["auto", "cpu", "gpu"], is_image: bool, batch_size: int, n_parameters: int) -> "Mesh":
    """What a network is trained on, several of which share a batch if it is worth it; on the first images are acted on.

    `auto` leaves small networks to the CPU: to ask a GPU about one step takes longer than a CPU's answer.
    """
    import jax
    from jax.sharding import Mesh

    found = jax.devices()
    if wanted == "cpu" or (wanted == "auto" and not is_image):
        found = jax.devices("cpu")
    elif wanted == "gpu" and found[0].platform != "gpu":
        advice = "install it for yours (pip install 'jax[cuda13]'), or leave --device out"
        raise UserError(f"JAX finds no GPU: {advice}.")
    n = max(n for n in range(1, len(found) + 1) if batch_size % n == 0)  # equal shares
    if not is_image and batch_size * n_parameters < LEAST_SHARED:
        n = 1
    return Mesh(found[:n], (SHARE,))


@contextlib.contextmanager
def own_cores(n: int) -> Iterator[None]:
    """Keep this process to `n` cores that no other run has, so far as there are such.

    Threads that hand work to each other, as EnvPool's do, are several times quicker about it on one core; and runs
    side by side do not disturb each other.
    """
    allowed = allowed_cores()
    locks: dict[int, BaseFileLock] = {}
    try:
        for core in allowed if n < len(allowed) else []:
            with contextlib.suppress(Timeout, OSError):
                lock = FileLock(_lock_folder() / f"{core}.lock")
                lock.acquire(blocking=False)
                locks[core] = lock
            if len(locks) == n:
                os.sched_setaffinity(0, locks)
                break
        yield
    finally:
        if len(locks) == n:
            os.sched_setaffinity(0, allowed)
        for lock in locks.values():
            lock.release()


def take_core(i: int, n: int) -> None:
    """Keep this process, the i-th of n, to its one of the run's cores, if the run has as many."""
    allowed = allowed_cores()
    if len(allowed) == n:
        os.sched_setaffinity(0, {allowed[i]})


def allowed_cores() -> list[int]:
    """The cores that this process may use; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _lock_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"udrl-cores-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    return folder
