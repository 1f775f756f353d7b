"""The agents that a page may show: found once when the server starts, and from then on named by number only."""

import dataclasses
import functools
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from udrl.agent import AGENT_FILE, BEST_AGENT_FILE, Agent
from udrl.checkpoint import load
from udrl.engines import EnvironmentFactory
from udrl.errors import UserError
from udrl.page.presets import presets, scale_of
from udrl.run_folder import find_runs
from udrl.training_files import CHECKPOINT

ACTION_NAMES: dict[str, tuple[str, ...]] = {
    "CartPole": ("left", "right"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "MountainCar": ("left", "nothing", "right"),
    "Acrobot": ("−1", "0", "+1"),
    "udrl/TakeCover": ("left", "right"),
}
"""What actions are called where the environment's documentation names them; numbers elsewhere."""


@dataclasses.dataclass(frozen=True)
class Listed:
    """An agent as a person chooses it."""

    label: str
    path: Path
    environment: str


class Agents:
    """The list, with the agents loaded when they are first asked for."""

    def __init__(self, listed: Sequence[Listed], environment: EnvironmentFactory | None = None) -> None:
        """`environment` makes what the agents act in, for those of a factory module:function."""
        self.listed, self.environment = tuple(listed), environment
        self._lock = threading.Lock()
        self._load = functools.lru_cache(maxsize=32)(self._load_new)

    def __len__(self) -> int:
        return len(self.listed)

    def get(self, number: int) -> Agent:
        """The agent of that number."""
        if not 0 <= number < len(self.listed):
            raise UserError(f"There is no agent {number}: the list has {len(self.listed)}.")
        with self._lock:  # several browsers may ask for the same one at once
            return self._load(number)

    def _load_new(self, number: int) -> Agent:
        agent = Agent.load(self.listed[number].path)
        agent.check_may_make(self.environment)
        return agent

    def summary(self) -> list[dict[str, Any]]:
        """The list as the page shows it."""
        return [{"id": i, "label": one.label, "environment": one.environment} for i, one in enumerate(self.listed)]

    def about(self, number: int) -> dict[str, Any]:
        """What the page needs to know of one agent."""
        agent = self.get(number)
        seen = agent.experience
        return {
            "id": number,
            "label": self.listed[number].label,
            "environment": agent.config.env_id,
            "seen": {
                "desired_return": [seen.return_min, seen.return_max],
                "desired_horizon": [seen.horizon_min, seen.horizon_max],
            },
            "scale": dataclasses.asdict(scale_of(agent)),
            "horizon_is_return": agent.config.horizon_is_return,
            "presets": {
                name: [float(order.desired_return), float(order.desired_horizon)]
                for name, order in presets(agent).items()
            },
            "actions": _actions(agent),
        }


def find_agents(path: Path, best: bool = False) -> list[Listed]:
    """The agents of a run folder, of a folder of runs or agent files, or of one file.

    Of a run both the newest and the best-evaluated one are listed, with `best` that one first.
    """
    if not path.exists():
        raise UserError(f"There is no file or folder {path}.")
    if path.is_file():
        return [_listed(path, path.stem)]
    names = [BEST_AGENT_FILE, AGENT_FILE] if best else [AGENT_FILE, BEST_AGENT_FILE]
    runs = find_runs(path)
    files = [(run / name, _label(run, path, name)) for run in runs for name in names if (run / name).is_file()]
    others = {AGENT_FILE, BEST_AGENT_FILE, CHECKPOINT} if path in runs else {CHECKPOINT}
    files += [(file, file.stem) for file in sorted(path.glob("*.safetensors")) if file.name not in others]
    if not files:
        raise UserError(f"There is no agent in {path}: a run writes one with its first checkpoint.")
    return [_listed(file, label) for file, label in files]


def has_extra() -> bool:
    """Whether what carries the page is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("fastapi", "uvicorn", "websockets", "PIL"))


def _label(run: Path, folder: Path, name: str) -> str:
    label = run.resolve().name if run == folder else str(run.relative_to(folder))
    return f"{label}, best" if name == BEST_AGENT_FILE else label


def _listed(path: Path, label: str) -> Listed:
    config = load(path, "agent")[1].get("config")
    return Listed(label, path, str(config.get("env_id", "")) if isinstance(config, dict) else "")


def _actions(agent: Agent) -> dict[str, Any]:
    """How actions are named and bounded."""
    space, sizes = agent.actions.space, agent.actions.sizes
    if isinstance(space, gym.spaces.Box):
        k = agent.actions.k
        names = [f"action {i}" for i in range(k)] if k > 1 else ["action"]
        bounds = {"low": space.low.ravel().tolist(), "high": space.high.ravel().tolist()}
        return {"kind": "continuous", "names": names, **bounds}
    start = np.zeros(len(sizes), int) + np.ravel(getattr(space, "start", 0))
    known = ACTION_NAMES.get(agent.config.env_id.partition("-v")[0], ())
    groups = [[f"{i}: {choice}" for choice in range(n)] for i, n in enumerate(sizes)]
    if len(sizes) == 1:
        groups = [list(known) if len(known) == sizes[0] else [str(start[0] + choice) for choice in range(sizes[0])]]
    return {"kind": "discrete", "groups": groups, "start": start.tolist()}
