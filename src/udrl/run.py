"""One run from its first step to its last: training that can be stopped at any moment and goes on exactly."""

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from udrl.agent import Agent
from udrl.config import RunOptions
from udrl.errors import Interrupted, TrainingError
from udrl.loggers import Log, check_loggers, open_loggers
from udrl.progress import Progress
from udrl.run_folder import Metrics, RunFolder
from udrl.training import Training, TrainingState
from udrl.training_files import TrainingFiles, identity_of

CHECKPOINT_SHARE = 0.02
"""The part of the time that checkpoints may take."""


@dataclasses.dataclass(frozen=True)
class Report:
    """What a function called after every iteration is told."""

    iteration: int
    env_steps: int
    metrics: Metrics
    """Of the iteration, and of the evaluation if there was one."""
    agent: Callable[[], Agent]
    """Gives the agent as it is now."""


AfterIteration = Callable[[Report], Any]
"""Called after every iteration; returning False ends the run there."""


def run(
    training: Training,
    options: RunOptions,
    after_iteration: AfterIteration | None = None,
    quiet: bool = False,
) -> Agent:
    """Train up to the budget, from the folder's checkpoint if there is one, and return the agent."""
    folder = None
    title = f"{training.task or training.config.env_id} seed {training.config.seed}"
    progress = Progress(title, options.env_steps, options.solved_return, quiet)
    try:
        check_loggers(options)
        if options.out is not None:
            folder = RunFolder(options.out, training.task, identity_of(training))
        with progress:
            return Run(training, options, folder, progress, after_iteration).go()
    finally:
        if folder is not None:
            folder.close()
        training.close()


class Run:
    """The loop around Algorithm 1: budget, metrics, checkpoints, stopping."""

    def __init__(
        self,
        training: Training,
        options: RunOptions,
        folder: RunFolder | None,
        progress: Progress,
        after_iteration: AfterIteration | None,
    ) -> None:
        self.training, self.options, self.folder, self.progress = training, options, folder, progress
        self.after_iteration = after_iteration
        self.files = None if folder is None else TrainingFiles(folder, training)
        self.logs: list[Log] = []
        self.saved_at, self.save_seconds = time.monotonic(), 0.0

    def go(self) -> Agent:
        state, warm_up = self._begin()
        status = "failed"
        try:
            with self._open_logs(state), stop_signals() as stopped:
                if warm_up is not None:
                    self._log(warm_up)
                self.progress.begin(state.env_steps)
                status = self._loop(state, stopped)
            return self.training.agent(state)
        except (Interrupted, KeyboardInterrupt):
            status = "stopped"
            raise
        finally:
            with contextlib.suppress(TrainingError):  # a full disk must not hide why the run ended
                self._set_status(status, state)

    def _begin(self) -> tuple[TrainingState, Metrics | None]:
        """Where training goes on from, and what its beginning gave, if it is one."""
        self.training.tell = self.progress.part
        metrics: Metrics | None = None
        state = None if self.files is None else self.files.resume()
        if state is not None:
            self.progress.say(f"Continuing {self.options.out} at {state.env_steps:,} steps.")
        else:
            state, metrics = self.training.start()
        self._set_status("running", state)
        return state, metrics

    @contextlib.contextmanager
    def _open_logs(self, state: TrainingState) -> Iterator[None]:
        identity = identity_of(self.training)
        with open_loggers(self.options, identity, self.training.task, state.env_steps) as logs:
            self.logs = logs if self.folder is None else [self.folder.log, *logs]
            yield

    def _loop(self, state: TrainingState, stopped: "Stopped") -> str:
        """Iterate until the budget is used; returns how the run ended."""
        while state.env_steps < self.options.env_steps and not self._is_solved(state):
            metrics = self.training.iterate(state)
            self._log(metrics)
            if self.training.is_evaluation_due(state):
                metrics |= self._evaluate(state)
            self.progress.iteration(state.env_steps, state.aim.evaluation_command())
            if self.after_iteration is not None and self._report(state, metrics) is False:
                self._save(state)
                return "stopped"
            if stopped.number is not None:
                self._save(state)
                raise Interrupted(stopped.number, self._how_to_continue(state))
            self._save_now_and_then(state)
        # The last evaluation comes after the last checkpoint: a run whose budget is raised goes on
        # from there as if it had never ended.
        self._save(state)
        if state.last_evaluation < state.iteration:
            self._evaluate(state)
        return "solved" if self._is_solved(state) else "finished"

    def _evaluate(self, state: TrainingState) -> Metrics:
        metrics = self.training.evaluate(state)
        mean = metrics["eval/return_mean"]
        if state.best_return is None or mean > state.best_return:
            state.best_return = mean
            if self.files is not None:
                self.files.save_best(self.training.agent(state))
        self._log(metrics)
        self.progress.evaluation(metrics)
        return metrics

    def _is_solved(self, state: TrainingState) -> bool:
        solved, best = self.options.solved_return, state.best_return
        return self.options.stop_when_solved and solved is not None and best is not None and best >= solved

    def _report(self, state: TrainingState, metrics: Metrics) -> Any:
        assert self.after_iteration is not None
        agent = lambda: self.training.agent(state)  # noqa: E731
        return self.after_iteration(Report(state.iteration, state.env_steps, metrics, agent))

    def _log(self, metrics: Metrics) -> None:
        for log in self.logs:
            log(metrics)

    def _save_now_and_then(self, state: TrainingState) -> None:
        wanted = self.options.checkpoint_seconds
        wait = max(wanted, self.save_seconds / CHECKPOINT_SHARE) if wanted else 0.0
        if time.monotonic() - self.saved_at >= wait:
            self._save(state)

    def _save(self, state: TrainingState) -> None:
        if self.files is None:
            return
        began = time.monotonic()
        self.files.save(state)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - began

    def _set_status(self, status: str, state: TrainingState) -> None:
        if self.folder is not None:
            self.folder.set_status(status, state.env_steps, self.options.env_steps)

    def _how_to_continue(self, state: TrainingState) -> str:
        if self.folder is None:
            return f"Stopped at {state.env_steps:,} steps."
        return f"Stopped at {state.env_steps:,} steps; the same command continues from there."


class Stopped:
    """Which signal asked the run to stop, if one did."""

    number: int | None = None


@contextlib.contextmanager
def stop_signals() -> Iterator[Stopped]:
    """Ctrl-C and SIGTERM let the iteration end and be saved; a second one stops at once."""
    stopped = Stopped()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stopped.number is not None:
            raise KeyboardInterrupt
        stopped.number = number

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
