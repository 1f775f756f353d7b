"""Carries the runs of an experiment out through Ray: those that are missing, each in a process of its own."""

import contextlib
import importlib.util
import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from udrl.cores import allowed_cores
from udrl.errors import Interrupted, TrainingError, UserError
from udrl.experiments.definition import Experiment, Run, resolve
from udrl.experiments.remote import Board, MetricsReader, Outcome, Root, carry_out, is_done, write_error
from udrl.experiments.table import ExperimentTable, RunState

POLL_SECONDS = 0.5
MOST_LOSSES = 3
"""How often the process of a run may be lost, without the run having got further, before it counts as failed."""
STOP_SECONDS = 120.0


def run_experiment(
    experiment: Experiment,
    folder: Path,
    address: str | None = None,
    shared: bool = False,
    cores: int = 1,
    quiet: bool = False,
) -> list[RunState]:
    """Do what is missing in `folder`; returns how every run stands, failed ones too."""
    states = [state_of(run, folder) for run in experiment.runs]
    missing = [state for state in states if state.status != "done"]
    table = ExperimentTable(experiment.name, states, quiet)
    if not missing:
        with table:
            return states
    with prepared(folder, shared) as root, table, connected(address):
        _check_cores(cores)
        Runner(missing, root, cores, table).go()
    return states


def state_of(run: Run, folder: Path) -> RunState:
    """As the run's folder tells it."""
    resolved = resolve(run)
    state = RunState(run, resolved.env_steps)
    progress = MetricsReader(folder / run.name).read_on()
    state.env_steps = progress.env_steps
    state.evaluation = progress.evaluations[-1][1] if progress.evaluations else None
    if is_done(run, folder / run.name):
        state.status = "done"
    return state


class Runner:
    """Hands runs to Ray, all at once and in their order, and looks after them until each has ended."""

    def __init__(
        self, states: Sequence[RunState], root: Root, cores: int, table: ExperimentTable, board: Any = None
    ) -> None:
        import ray

        self._root, self._cores, self._table = root, cores, table
        self._states = {state.run.name: state for state in states}
        # A worker process ends with its run: the next one decides anew how many cores JAX takes.
        # Wherever there is room: not only in what Ray has set aside for a search's trial.
        task: Any = ray.remote(num_cpus=cores, max_calls=1, max_retries=0, scheduling_strategy="DEFAULT")
        self._task: Any = task(carry_out)
        self._board: Any = board or make_board()
        self._tasks: dict[Any, RunState] = {self._submit(state): state for state in states}

    def go(self, look: Callable[[], None] = lambda: None) -> None:
        """Until all have ended, or a signal asks to stop; `look` is called every now and then."""
        import ray

        from udrl.run import stop_signals

        with stop_signals() as stopped:
            while self._tasks and stopped.number is None:
                ended, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=POLL_SECONDS)
                for task in ended:
                    self._end(task)
                self._look()
                look()
            if stopped.number is not None:
                self._table.say("Stopping: running runs end their iteration and are saved.")
                self._stop()
                raise Interrupted(stopped.number, "Stopped; the same command continues from there.")

    def _submit(self, state: RunState) -> Any:
        return self._task.remote(state.run, self._root, self._cores, self._board)

    def _look(self) -> None:
        reports = read_board(self._board)
        for state in self._tasks.values():
            if state.run.name in reports:
                env_steps, evaluation = reports[state.run.name]
                state.is_at(env_steps, evaluation)
        self._table.update()

    def _end(self, task: Any) -> None:
        """What has become of a run."""
        state = self._tasks.pop(task)
        try:
            outcome = self._outcome(task, state.run)
        except ray_errors().RayError as error:  # its process died, or its node
            self._go_on(state, error)
            return
        fresh = state_of(state.run, self._root.path)
        state.env_steps, state.evaluation, state.status = fresh.env_steps, fresh.evaluation, outcome.status
        if outcome.status == "failed":
            self._table.say(f"{state.run.name} failed: {outcome.message}")
        elif outcome.status == "done":
            evaluation = "" if state.evaluation is None else f", evaluation {state.evaluation:.1f}"
            self._table.say(f"{state.run.name} done: {state.env_steps:,} steps{evaluation}")

    def _outcome(self, task: Any, run: Run) -> Outcome:
        """Of a task that has ended; a lost one is a RayError."""
        import ray

        folder = self._root.path / run.name
        try:
            outcome: Outcome = ray.get(task)
        except ray_errors().TaskCancelledError:
            return Outcome("stopped")
        except ray_errors().RayTaskError as error:  # it did not even begin
            write_error(folder, str(error))
            return Outcome("failed", f"{type(error.cause).__name__}: {error.cause}")
        for name, content in outcome.files.items():  # of a run that lies where we do not see it
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return outcome

    def _go_on(self, state: RunState, error: Exception) -> None:
        """A run whose process was lost goes on from its newest checkpoint, wherever there is room."""
        state.losses = state.losses + 1 if state.env_steps <= state.lost_at else 1
        state.lost_at = max(state.env_steps, state.lost_at)
        state.forget_speed()
        if state.losses >= MOST_LOSSES:
            state.status = "failed"
            sentence = f"its process was lost {MOST_LOSSES} times without getting further"
            write_error(self._root.path / state.run.name, f"{sentence}\n\n{error}\n")
            self._table.say(f"{state.run.name} failed: {sentence}.")
            return
        self._table.say(f"{state.run.name} lost its process at {state.env_steps:,} steps, and goes on.")
        state.status = "waiting"
        self._tasks[self._submit(state)] = state

    def _stop(self) -> None:
        """Running runs are told by the board; waiting ones never begin."""
        import ray

        ray.get(self._board.stop.remote())
        for task, state in self._tasks.items():
            if state.status == "waiting":
                ray.cancel(task)
        ended, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=STOP_SECONDS)
        for state in self._tasks.values():
            state.status = "stopped"
        for task in ended:
            state = self._tasks[task]
            with contextlib.suppress(ray_errors().RayError):
                state.status = self._outcome(task, state.run).status


def ray_errors() -> Any:
    """Ray's exceptions, imported only where Ray runs."""
    import ray.exceptions

    return ray.exceptions


@contextlib.contextmanager
def prepared(folder: Path, shared: bool) -> Iterator[Root]:
    """The folder of all runs, with a token by which nodes tell whether they see it."""
    token = f".experiment-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / token).touch()
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be written: {error.strerror}.") from None
    try:
        yield Root(folder.absolute(), token, shared, tuple(str(Path(entry).absolute()) for entry in sys.path))
    finally:
        (folder / token).unlink(missing_ok=True)


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray on this machine's cores, or a cluster's; one that we are connected to already is kept."""
    prepare_environment()
    import ray

    if ray.is_initialized():
        yield
        return
    where: dict[str, Any] = {"address": address}
    if address is None:
        # Results are files: the smallest store of objects is enough.
        n = len(allowed_cores()) or os.cpu_count()
        where = {"address": "local", "num_cpus": n, "include_dashboard": False, "object_store_memory": 80 * 2**20}
    try:
        ray.init(**where, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UserError(f"Ray does not start at {address or 'this machine'}: {error}") from None
    try:
        yield
    finally:
        ray.shutdown()


def prepare_environment() -> None:
    """What Ray reads when it is imported."""
    if importlib.util.find_spec("ray") is None:
        raise UserError("Running through Ray needs an extra: pip install 'udrl[ray]'.")
    wanted = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or it would warn of it
        "RAY_worker_niceness": "0",  # runs are the work, and have no one to make room for
        # We say ourselves what was lost, in words of ours.
        "RAY_DEDUP_LOGS_SKIP_REGEX": "worker died or was killed|has been marked dead",
    }
    for name, value in wanted.items():
        os.environ.setdefault(name, value)


def make_board() -> Any:
    """On this very node: it is lost only with the experiment's own process."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor: Any = ray.remote(Board)
    return actor.options(num_cpus=0, scheduling_strategy=here).remote()


def read_board(board: Any) -> dict[str, tuple[int, float | None]]:
    """What is on the board; nothing while it does not answer, as when the machine has been asleep."""
    import ray

    try:
        return ray.get(board.read.remote())
    except ray_errors().ActorUnavailableError:
        return {}


def _check_cores(cores: int) -> None:
    import ray

    most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if cores > most:
        raise UserError(f"No machine has {cores} cores, the largest has {most:.0f}: give fewer by --cores.")


def complain(states: Sequence[RunState]) -> None:
    """Failed runs end the command with exit code 1."""
    failed = [state.run.name for state in states if state.status == "failed"]
    if failed:
        names = ", ".join(failed[:3]) + (", ..." if len(failed) > 3 else "")
        raise TrainingError(
            f"{len(failed)} of {len(states)} runs failed ({names}); error.txt in their folders says why, "
            "and the same command tries them again."
        )
