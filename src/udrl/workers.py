"""Episodes collected by several processes that keep their environments; the result is that of one process."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

import cloudpickle
import jax
import numpy as np

from udrl.behavior import BehaviorFunction
from udrl.config import Config
from udrl.cores import limit_cores, take_core
from udrl.engines import EnvironmentFactory
from udrl.environments import make_environments
from udrl.episode import Episode, pack_episodes, unpack_episodes
from udrl.errors import TrainingError, UserError
from udrl.rollout import Batch, Parameters, Rollouts

MOST_DEATHS = 3
"""How often a share of a batch may cost a worker its life before the run gives up."""


class Workers:
    """Spreads each batch of episodes over processes; one that dies is replaced, and its share done again."""

    def __init__(self, n: int) -> None:
        """Start the processes: they import what they need while the run is being set up."""
        self._n, self._equipment = n, b""
        self._workers = [Worker(i, n) for i in range(n)]

    def equip(self, config: Config, behavior: BehaviorFunction, factory: EnvironmentFactory | None = None) -> "Workers":
        """Give them what all batches have in common."""
        behavior = cast(BehaviorFunction, jax.tree.map(_as_numpy, behavior))
        try:
            self._equipment = cloudpickle.dumps((config, behavior, factory))
        except Exception as error:
            raise UserError(
                f"The environment or the network cannot be sent to other processes ({error}): use --workers 1."
            ) from None
        for worker in self._workers:
            worker.send(self._equipment)
        return self

    def collect(self, parameters: Parameters, batch: Batch) -> list[Episode]:
        parameters = [np.asarray(leaf) for leaf in parameters]
        bounds = np.linspace(0, len(batch.episodes), len(self._workers) + 1).round().astype(int).tolist()
        shares = [batch.part(*ends) for ends in itertools.pairwise(bounds) if ends[0] < ends[1]]
        collected: dict[int, list[Episode]] = {}
        for i, share in enumerate(shares):
            self._workers[i].send((parameters, share))
        deaths = 0
        while len(collected) < len(shares):
            waiting = {self._workers[i].connection: i for i in range(len(shares)) if i not in collected}
            for connection in wait(list(waiting)):
                i = waiting[cast(Connection, connection)]
                answer = self._workers[i].receive()
                if answer is None:
                    deaths += 1
                    if deaths > MOST_DEATHS:
                        raise TrainingError(f"A worker died {deaths} times in iteration {batch.iteration}.")
                    self._workers[i].close()
                    self._workers[i] = Worker(i, self._n)
                    self._workers[i].send(self._equipment)
                    self._workers[i].send((parameters, shares[i]))
                else:
                    collected[i] = answer
        return [episode for i in range(len(shares)) for episode in collected[i]]

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


class Worker:
    """One process and the line to it."""

    def __init__(self, i: int, n: int) -> None:
        # Spawned, not forked: JAX holds threads, and a fork of them can wait for ever.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(target=_work, args=(theirs, i, n), daemon=True)
        try:
            self._process.start()
        except RuntimeError as error:  # Python's own sentence has ten lines
            raise UserError(
                "Workers start your script anew: put what it does under `if __name__ == '__main__':`, or use workers=1."
            ) from error
        theirs.close()

    def send(self, message: bytes | tuple[Sequence[np.ndarray], Batch]) -> None:
        """Its equipment, then what to collect with which parameters."""
        with contextlib.suppress(OSError):  # a dead worker shows itself when its answer is awaited
            self.connection.send(message)

    def receive(self) -> list[Episode] | None:
        """What it collected, or None if it has died; its error is raised here."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, Exception):
            raise answer
        return unpack_episodes(answer)

    def close(self) -> None:
        self.connection.close()  # it ends when it finds the line cut
        self._process.join(0.5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _work(connection: Connection, i: int, n: int) -> None:
    """Collect what is asked for until the line is cut."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal: the parent answers it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_cores(1)
    take_core(i, n)
    jax.config.update("jax_platforms", "cpu")  # many processes would only be in each other's way on a GPU
    rollouts: Rollouts | None = None
    with contextlib.suppress(EOFError, OSError):
        config, behavior, factory = cloudpickle.loads(connection.recv())
        while True:
            parameters, share = connection.recv()
            try:
                rollouts = rollouts or Rollouts(make_environments(config, factory), behavior)
                answer: Any = pack_episodes(rollouts.collect(parameters, share))
            except (UserError, TrainingError) as error:
                answer = error
            connection.send(answer)
    if rollouts is not None:
        rollouts.close()


def _end_with_parent() -> None:
    """A parent that is killed leaves nobody behind, whatever its workers are doing."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _as_numpy(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf
