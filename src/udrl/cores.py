"""How many cores a run may use: decided before JAX starts, since it reads this once."""

import os
import sys


def limit_cores(threads: int) -> None:
    """Have JAX compute with so many threads, and in the caller's own thread where one is enough.

    Without effect where JAX has begun to compute, whose answer is kept.
    """
    # NPROC is how many threads XLA's pool gets; more than that it never uses, so runs do not disturb each other.
    os.environ["NPROC"] = str(threads)
    # Small networks on a CPU: waiting for another thread to hand over the result takes longer than computing it.
    os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "false")
    if "jax" in sys.modules:  # it was imported first, and read its environment then
        import jax

        jax.config.update("jax_cpu_enable_async_dispatch", False)
