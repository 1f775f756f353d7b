"""Environment steps a second with training, nothing evaluated, of udrl and of every baseline; one JSON line each.

    python benchmarks/baselines.py

Each has one core, one runs after the other, with the values that `udrl train` gives it for the task. The time that
udrl takes to compile is part of it; its warm-up episodes are not, neither their time nor their steps. Run it with
nothing else on the machine; it takes about 20 minutes, most of them DDPG's. Needs udrl[baselines,mujoco].
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tyro

from udrl.run_folder import CONFIG, read_json, read_metrics

FITTING = {"lunarlander": ("udrl", "dqn", "a2c", "ppo", "trpo"), "swimmer": ("udrl", "a2c", "ppo", "trpo", "ddpg")}
"""The algorithms for each task's kind of actions."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    tasks: tuple[str, ...] = tuple(FITTING)
    algorithms: tuple[str, ...] = ("udrl", "dqn", "a2c", "ppo", "trpo", "ddpg")
    env_steps: int = 300_000
    """Length of each run."""
    replay_env_steps: int = 50_000
    """Length of those of DQN and DDPG, which learn at every step and are slow."""


def measure(task: str, algorithm: str, env_steps: int) -> dict[str, Any]:
    """A run as a person starts it; its metrics say how long training took."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "udrl.cli", "train", task, "--algorithm", algorithm, "--out", str(out)]
        command += ["--env-steps", str(env_steps), "--evaluation-interval", "0", "--n-evaluation-episodes", "1"]
        if algorithm == "udrl":
            command += ["--no-count-warm-up"]
        if algorithm == "ddpg":  # else most of the steps would be those before it learns
            command += ["--learning-starts", "100"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        lines, config = list(read_metrics(out)), read_json(out / CONFIG)
    last = [line for line in lines if line["kind"] == "iteration"][-1]
    steps, seconds = last["env_steps"], last["time/total"]
    return {
        "task": task,
        "algorithm": algorithm,
        "engine": config.get("engine", "gymnasium"),
        "env_steps": steps,
        "seconds": round(seconds, 2),
        "env_steps_per_second": round(steps / seconds),
    }


def main(arguments: Arguments) -> None:
    for task in arguments.tasks:
        for algorithm in (name for name in arguments.algorithms if name in FITTING[task]):
            is_slow = algorithm in ("dqn", "ddpg")
            steps = min(arguments.replay_env_steps, arguments.env_steps) if is_slow else arguments.env_steps
            print(json.dumps(measure(task, algorithm, steps)), flush=True)


if __name__ == "__main__":
    main(tyro.cli(Arguments))
