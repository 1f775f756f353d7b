"""How many cores a run may use: decided before JAX starts, since it reads this once."""

import os


def limit_cores(threads: int) -> None:
    """Have JAX compute with so many threads, and in the caller's own thread where one is enough.

    Without effect where JAX has begun to compute, whose answer is kept.
    """
    # NPROC is how many threads XLA's pool gets; more than that it never uses, so runs do not disturb each other.
    os.environ["NPROC"] = str(threads)
    if threads == 1:  # else XLA hands even single products over to its pool, and waits
        flags = os.environ.get("XLA_FLAGS", "")
        if "multi_thread_eigen" not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    import jax

    # Small networks on a CPU: waking another thread up takes several times longer than what it computes.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
