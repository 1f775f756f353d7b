"""What a run folder holds of our own training: the newest complete checkpoint, the agent and the best agent."""

import dataclasses
from pathlib import Path
from typing import Any

import equinox as eqx

from udrl import checkpoint
from udrl.agent import AGENT_FILE, BEST_AGENT_FILE, Agent, Experience, digest, parameters_to_arrays
from udrl.behavior import Network
from udrl.episode import pack_episodes
from udrl.errors import UserError
from udrl.exploration import Aim
from udrl.replay import Replay
from udrl.replay_files import Manifest, ReplayFiles
from udrl.run_folder import METRICS, RunFolder, qualified_name
from udrl.training import Extensions, Training, TrainingState

CHECKPOINT, REPLAY = "checkpoint.safetensors", "replay"


class TrainingFiles:
    """A training's files in its run folder."""

    def __init__(self, folder: RunFolder, training: Training) -> None:
        self._folder, self._training = folder, training
        self._replay_files = ReplayFiles(folder.path / REPLAY)

    def resume(self) -> TrainingState | None:
        """The state of the newest checkpoint, with the metrics cut back to it; None where there is none."""
        path, n_bytes, state = self._folder.path, 0, None
        if (path / CHECKPOINT).exists():
            state, n_bytes = load_state(path / CHECKPOINT, self._training, self._replay_files)
            if self._folder.metrics_bytes < n_bytes:
                raise UserError(f"{path / METRICS} is shorter than its checkpoint says; choose another folder.")
        self._folder.cut_metrics(n_bytes)
        return state

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint, and the agent alone."""
        metrics_bytes, path = self._folder.sync_metrics(), self._folder.path
        save_state(path / CHECKPOINT, state, self._replay_files.write(state.replay), metrics_bytes)
        self._replay_files.clean()
        self._training.agent(state).save(path / AGENT_FILE)

    def save_best(self, agent: Agent) -> None:
        agent.save(self._folder.path / BEST_AGENT_FILE)


def identity_of(training: Training) -> dict[str, Any]:
    """What makes two runs the same: all that changes what is learned."""
    extensions: Extensions = training.extensions
    demonstrations = extensions.demonstrations
    start = extensions.start_from
    return {
        "algorithm": "udrl",
        **dataclasses.asdict(training.config),
        "environment": qualified_name(extensions.environment),
        "network": None if extensions.network is None else _describe_network(extensions.network),
        "exploration": qualified_name(extensions.exploration),
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


def _describe_network(network: Network) -> str:
    """Its structure, and the values that it starts with."""
    return f"{network!r} {digest(checkpoint.flatten_tree(eqx.filter(network, eqx.is_array), ''))}"
