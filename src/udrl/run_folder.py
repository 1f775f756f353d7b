"""A run is a folder: configuration, metrics, the newest complete checkpoint, the agent and the best agent."""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
from filelock import FileLock, Timeout

from udrl import __version__, checkpoint
from udrl.agent import AGENT_FILE, BEST_AGENT_FILE, Agent, Experience, digest, parameters_to_arrays
from udrl.behavior import Network
from udrl.episode import pack_episodes
from udrl.errors import TrainingError, UserError
from udrl.exploration import Aim
from udrl.replay import Replay
from udrl.replay_files import Manifest, ReplayFiles
from udrl.training import Extensions, Metrics, Training, TrainingState

CONFIG, METRICS, CHECKPOINT, STATUS = "config.json", "metrics.jsonl", "checkpoint.safetensors", "status.json"
REPLAY = "replay"


class RunFolder:
    """The files of one run. Only one process at a time may train in it."""

    def __init__(self, path: Path, training: Training) -> None:
        """Make the folder, or open one that holds a run of the same identity; any other is refused."""
        self.path, self._training = path, training
        self._replay_files = ReplayFiles(path / REPLAY)
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
            self._check_identity(training.task, identity_of(training))
            self._metrics = open(path / METRICS, "ab")  # noqa: SIM115 (closed by close)
        except OSError as error:
            self._lock.release()
            raise UserError(f"The run folder {path} cannot be written: {error.strerror}.") from None
        except BaseException:
            self._lock.release()
            raise

    def resume(self) -> TrainingState | None:
        """The state of the newest checkpoint, with the metrics cut back to it; None where there is none."""
        if not (self.path / CHECKPOINT).exists():
            self._cut_metrics(0)
            return None
        state, n_bytes = load_state(self.path / CHECKPOINT, self._training, self._replay_files)
        if (self.path / METRICS).stat().st_size < n_bytes:
            raise UserError(f"{self.path / METRICS} is shorter than its checkpoint says; choose another folder.")
        self._cut_metrics(n_bytes)
        return state

    def _cut_metrics(self, n_bytes: int) -> None:
        self._metrics.truncate(n_bytes)
        self._metrics.seek(0, os.SEEK_END)  # truncating leaves the position where it was

    def log(self, metrics: Metrics) -> None:
        """Add a line to the metrics."""
        try:
            self._metrics.write((json.dumps(metrics, allow_nan=False) + "\n").encode())
            self._metrics.flush()
        except OSError as error:
            raise TrainingError(f"{self.path / METRICS} cannot be written: {error.strerror}.") from error

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint, and the agent alone."""
        self._metrics.flush()
        checkpoint.sync(self._metrics.fileno())
        save_state(self.path / CHECKPOINT, state, self._replay_files.write(state.replay), self._metrics.tell())
        self._replay_files.clean()
        self._training.agent(state).save(self.path / AGENT_FILE)

    def save_best(self, agent: Agent) -> None:
        agent.save(self.path / BEST_AGENT_FILE)

    def set_status(self, status: str, env_steps: int, budget: int) -> None:
        """For `udrl runs`; a run that is said to be running but holds no lock was interrupted."""
        document = {"status": status, "env_steps": env_steps, "budget": budget}
        checkpoint.write_json(self.path / STATUS, document)

    def close(self) -> None:
        self._metrics.close()
        self._lock.release()

    def _check_identity(self, task: str | None, identity: dict[str, Any]) -> None:
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


def identity_of(training: Training) -> dict[str, Any]:
    """What makes two runs the same: all that changes what is learned."""
    extensions: Extensions = training.extensions
    demonstrations = extensions.demonstrations
    start = extensions.start_from
    return {
        "algorithm": "udrl",
        **dataclasses.asdict(training.config),
        "environment": _qualified_name(extensions.environment),
        "network": None if extensions.network is None else _describe_network(extensions.network),
        "exploration": _qualified_name(extensions.exploration),
        "start_from": None if start is None else digest(parameters_to_arrays(start.behavior)),
        "demonstrations": digest(pack_episodes(demonstrations)) if demonstrations else None,
    }


def save_state(path: Path, state: TrainingState, manifest: Manifest, metrics_bytes: int) -> None:
    """Everything that training needs to go on as if it had never stopped; the episodes are in files of their own."""
    arrays = checkpoint.flatten_tree(state.learner, "learner")
    document = {
        "replay": manifest,
        "aim": dataclasses.asdict(state.aim),
        "experience": dataclasses.asdict(state.experience),
        "counters": {name: getattr(state, name) for name in _COUNTERS},
        "n_added": state.replay.n_added,
        "metrics_bytes": metrics_bytes,
    }
    checkpoint.save(path, "checkpoint", arrays, document)


def load_state(path: Path, training: Training, replay_files: ReplayFiles) -> tuple[TrainingState, int]:
    """The state that `save_state` wrote, and how long the metrics were then."""
    arrays, document = checkpoint.load(path, "checkpoint")
    learner = checkpoint.restore_tree(training.learner.initial_state(), arrays, "learner", path)
    try:
        replay = Replay(training.config.replay_size, training.config.ties)
        replay.restore(replay_files.read(document["replay"]), int(document["n_added"]))
        aim, experience = Aim(**document["aim"]), Experience(**document["experience"])
        counters = {name: document["counters"][name] for name in _COUNTERS}
        return TrainingState(learner, replay, aim, experience, **counters), int(document["metrics_bytes"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UserError(f"{path} is not a valid checkpoint ({error}); delete it to begin anew.") from None


_COUNTERS = ("iteration", "env_steps", "evaluated_at", "last_evaluation", "best_return", "seconds")


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


def _describe_network(network: Network) -> str:
    """Its structure, and the values that it starts with."""
    return f"{network!r} {digest(checkpoint.flatten_tree(eqx.filter(network, eqx.is_array), ''))}"


def _qualified_name(thing: Any) -> str | None:
    if thing is None:
        return None
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
