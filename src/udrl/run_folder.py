"""A run is a folder, whatever its algorithm: configuration, metrics, status, and whose it is."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from udrl import __version__, checkpoint
from udrl.errors import TrainingError, UserError

CONFIG, METRICS, STATUS = "config.json", "metrics.jsonl", "status.json"

Metrics = dict[str, Any]


class RunFolder:
    """The files of one run. Only one process at a time may train in it."""

    def __init__(self, path: Path, task: str | None, identity: Mapping[str, Any]) -> None:
        """Make the folder, or open one that holds a run of the same identity; any other is refused."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"The run folder {path} cannot be made: {error.strerror}.") from None
        self._lock = FileLock(path / "lock")
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise UserError(f"Another process is training in {path}: stop it or choose another folder.") from None
        except OSError as error:
            raise UserError(f"The run folder {path} cannot be written: {error.strerror}.") from None
        try:
            self._check_identity(task, identity)
            self._metrics = open(path / METRICS, "ab")  # noqa: SIM115 (closed by close)
        except OSError as error:
            self._lock.release()
            raise UserError(f"The run folder {path} cannot be written: {error.strerror}.") from None
        except BaseException:
            self._lock.release()
            raise

    @property
    def metrics_bytes(self) -> int:
        """How long the metrics are."""
        return (self.path / METRICS).stat().st_size

    def cut_metrics(self, n_bytes: int) -> None:
        """Forget what comes after the first `n_bytes`."""
        self._metrics.truncate(n_bytes)
        self._metrics.seek(0, os.SEEK_END)  # truncating leaves the position where it was

    def sync_metrics(self) -> int:
        """Have the metrics on disk; returns how long they are."""
        self._metrics.flush()
        checkpoint.sync(self._metrics.fileno())
        return self._metrics.tell()

    def log(self, metrics: Metrics) -> None:
        """Add a line to the metrics."""
        try:
            self._metrics.write((json.dumps(metrics, allow_nan=False) + "\n").encode())
            self._metrics.flush()
        except OSError as error:
            raise TrainingError(f"{self.path / METRICS} cannot be written: {error.strerror}.") from error

    def set_status(self, status: str, env_steps: int, budget: int) -> None:
        """For `udrl runs`; a run that is said to be running but holds no lock was interrupted."""
        document = {"status": status, "env_steps": env_steps, "budget": budget}
        checkpoint.write_json(self.path / STATUS, document)

    def close(self) -> None:
        self._metrics.close()
        self._lock.release()

    def _check_identity(self, task: str | None, identity: Mapping[str, Any]) -> None:
        file = self.path / CONFIG
        if not file.exists():
            # The task's name says nothing that the values do not, but tables of runs want it.
            checkpoint.write_json(file, {"udrl": __version__, "task": task, **identity})
            return
        there = read_json(file)
        differences = [
            f"{name} is {_show(before)} there and {_show(now)} here"
            for name, before, now in _differences(there, json.loads(json.dumps(identity)))
        ]
        if differences:
            raise UserError(
                f"{self.path} holds another run ({'; '.join(differences)}): "
                "give --out another folder, or the same values."
            )


def read_json(path: Path) -> dict[str, Any]:
    """The document of a JSON file, or a sentence about what is wrong with it."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}).") from None
    if not isinstance(document, dict):
        raise UserError(f"{path} is not what a run writes.")
    return document


def read_metrics(path: Path) -> Iterator[Metrics]:
    """The lines of a run's metrics, but for one that is still being written."""
    file = path / METRICS if path.is_dir() else path
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    for line in lines:
        try:
            metrics = json.loads(line)
        except ValueError:
            return
        if not isinstance(metrics, dict):
            return
        yield metrics


def find_runs(folder: Path) -> list[Path]:
    """The run folders in a folder, at any depth."""
    return sorted(file.parent for file in folder.rglob(CONFIG) if (file.parent / METRICS).is_file())


def run_status(path: Path) -> dict[str, Any]:
    """How far a run is, and whether it is running, finished, solved, stopped, failed or interrupted."""
    try:
        status = read_json(path / STATUS) if (path / STATUS).exists() else {"status": "running", "budget": None}
    except UserError:
        status = {"status": "damaged", "budget": None}
    if status.get("status") == "running" and not _is_locked(path):
        status["status"] = "interrupted"
    for line in read_metrics(path):
        status["env_steps"] = line.get("env_steps", 0)
        if line.get("kind") == "evaluation":
            status["last"] = line["eval/return_mean"]
            status["best"] = max(status.get("best", -np.inf), line["eval/return_mean"])
    return status


def _is_locked(path: Path) -> bool:
    if not (path / "lock").exists():
        return False
    try:
        with FileLock(path / "lock", blocking=False):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that we may only read: nobody we could know of trains there
        return False


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    missing = object()
    names = [name for name in here if there.get(name, missing) != here[name]]
    return [(name, there.get(name, "not set"), here[name]) for name in names]


def _show(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:57] + "..."


def qualified_name(thing: Any) -> str | None:
    """Where a function, a class or an object's class comes from: what an identity holds of it."""
    if thing is None:
        return None
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
