"""What happens where a run is carried out: a process of its own, on any node, that reports how far it is."""

import _thread
import dataclasses
import json
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from udrl.cores import limit_cores
from udrl.errors import Interrupted, TrainingError, UserError
from udrl.experiments.definition import Run, resolve

ERROR_FILE = "error.txt"
REPORT_SECONDS = 1.0
START_SECONDS = 30
"""How long a run may take until it listens to signals."""
LOCK_SECONDS = 60.0
"""How long a process that was lost may still hold its run."""
SENT_BACK = ("config.json", "metrics.jsonl", "status.json", "agent.safetensors", "best_agent.safetensors", ERROR_FILE)
"""What is sent to a machine that does not see the run's folder; without the replay there is no going on from them."""


@dataclasses.dataclass(frozen=True)
class Root:
    """Where the run folders lie."""

    path: Path
    token: str
    """A file there: a node that sees it shares the folder with the machine that started the experiment."""
    must_be_shared: bool = False
    imports: tuple[str, ...] = ()
    """Folders of modules: an environment `module:function` is found by runs where it is found here."""

    @property
    def is_shared(self) -> bool:
        return (self.path / self.token).exists()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    status: Literal["done", "failed", "stopped"]
    message: str = ""
    """One sentence."""
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is."""

    env_steps: int = 0
    evaluations: tuple[tuple[int, float], ...] = ()
    """The multiple of the evaluation interval, and the mean return."""


class Board:
    """An actor: runs write on it how far they are, and read whether they should stop."""

    def __init__(self) -> None:
        self._progress: dict[str, Progress] = {}
        self._running: set[str] = set()
        self._stop = False

    def report(self, name: str, progress: Progress, runs: bool = True) -> bool:
        self._progress[name] = progress
        (self._running.add if runs else self._running.discard)(name)
        return self._stop

    def n_running(self) -> int:
        return len(self._running)

    def read(self) -> dict[str, tuple[int, float | None]]:
        """The steps of every run that has begun, and its last evaluation."""
        return {
            name: (progress.env_steps, progress.evaluations[-1][1] if progress.evaluations else None)
            for name, progress in self._progress.items()
        }

    def progress(self, name: str) -> Progress:
        return self._progress.get(name, Progress())

    def stop(self) -> None:
        self._stop = True


def carry_out(run: Run, root: Root, cores: int, board: Any) -> Outcome:
    """Train until the run's budget is reached, from its newest checkpoint where there is one; runs in a Ray task.

    What goes wrong is part of the outcome, so that a process that is lost is the only exception.
    """
    out = root.path / run.name
    sys.path += [folder for folder in root.imports if folder not in sys.path]
    try:
        limit_cores(cores)  # before anything imports JAX
        outcome = _carry_out(run, root, cores, board)
    except (Interrupted, KeyboardInterrupt):
        outcome = Outcome("stopped")
    except Exception as error:
        is_ours = isinstance(error, UserError | TrainingError)
        message = str(error) if is_ours else f"{type(error).__name__}: {error}"
        write_error(out, traceback.format_exc())
        outcome = Outcome("failed", message)
    if root.is_shared:
        return outcome
    return dataclasses.replace(
        outcome, files={name: (out / name).read_bytes() for name in SENT_BACK if (out / name).exists()}
    )


def _carry_out(run: Run, root: Root, cores: int, board: Any) -> Outcome:
    from udrl.api import train

    if root.must_be_shared and not root.is_shared:
        import socket

        raise UserError(f"{socket.gethostname()} does not see the storage {root.path}.")
    out = root.path / run.name
    _wait_until_free(out)
    with Reporter(board, run.name, out) as reporter:
        if not reporter.stopped and not is_done(run, out):
            train(**run.arguments, out=out, threads=cores, quiet=True)
    if reporter.stopped and not is_done(run, out):
        return Outcome("stopped")
    (out / ERROR_FILE).unlink(missing_ok=True)
    return Outcome("done")


def is_done(run: Run, out: Path) -> bool:
    """Whether the folder holds this run, complete. One of another identity is refused."""
    status, config = _read(out / "status.json"), _read(out / "config.json")
    resolved = resolve(run)
    for name, value in json.loads(json.dumps(resolved.identity)).items():
        # What is decided where the run is, and what no run has written, tells nothing.
        if value != "auto" and name in config and config[name] != value:
            raise UserError(
                f"{out} holds another run ({name} is {json.dumps(config[name])} there and {json.dumps(value)} here): "
                "give --out another folder, or the same values."
            )
    if status.get("status") == "solved" and resolved.stop_when_solved:
        return True
    return status.get("status") in ("finished", "solved") and status.get("env_steps", 0) >= resolved.env_steps


def write_error(out: Path, text: str) -> None:
    """Keep what went wrong in the run's folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / ERROR_FILE).write_text(text)
    except OSError:  # it may be this very disk that failed; the sentence is shown in any case
        return


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _wait_until_free(out: Path) -> None:
    """A process whose node was lost may take a moment to notice."""
    if not out.is_dir():
        return
    try:
        with FileLock(out / "lock", timeout=LOCK_SECONDS):
            return
    except Timeout:
        raise UserError(f"Another process is training in {out}: stop it or choose another folder.") from None


class MetricsReader:
    """Reads a run's metrics as they are written, whatever the algorithm."""

    def __init__(self, out: Path) -> None:
        self._file = out / "metrics.jsonl"
        self._position, self._last_line, self._progress = 0, b"", Progress()

    def read_on(self) -> Progress:
        """The progress with the whole lines that were added since."""
        try:
            with open(self._file, "rb") as file:
                file.seek(self._position - len(self._last_line))
                text = file.read()
                if not text.startswith(self._last_line):  # it was cut back to a checkpoint, and goes on from there
                    self._position, self._last_line, self._progress = 0, b"", Progress()
                    file.seek(0)
                    text = file.read()
        except OSError:
            return self._progress
        env_steps, evaluations = self._progress.env_steps, list(self._progress.evaluations)
        for line in text[len(self._last_line) :].splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            self._position, self._last_line = self._position + len(line), line
            metrics = json.loads(line)
            env_steps = metrics.get("env_steps", env_steps)
            if metrics.get("kind") == "evaluation":
                evaluations.append((metrics.get("eval/at", env_steps), metrics["eval/return_mean"]))
        self._progress = Progress(env_steps, tuple(evaluations))
        return self._progress


class Reporter(threading.Thread):
    """Puts on the board how far a run is, and stops it when the board says so."""

    def __init__(self, board: Any, name: str, out: Path) -> None:
        super().__init__(daemon=True)
        self._board, self._run_name, self._metrics = board, name, MetricsReader(out)
        self._ended = threading.Event()
        self.stopped = False

    def __enter__(self) -> "Reporter":
        self._report()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        self._report(runs=False)

    def run(self) -> None:
        while not self._ended.wait(REPORT_SECONDS):
            if self._report():
                self._interrupt()
                return

    def _interrupt(self) -> None:
        """As Ctrl-C does: the iteration ends and is saved."""
        for _ in range(START_SECONDS):
            if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                break
            if self._ended.wait(1.0):  # nobody listens yet: in the middle of an import it could get lost
                return
        _thread.interrupt_main()

    def _report(self, runs: bool = True) -> bool:
        # Not ray.get: Ray would think that we wait, and give our core to another run.
        answer = self._board.report.remote(self._run_name, self._metrics.read_on(), runs)
        self.stopped = answer.future().result()
        return self.stopped
