"""Desired against obtained returns of trained agents; prints one JSON line per agent.

python scripts/obedience.py runs/cartpole/seed-1 --low 20 --high 400
"""

import json
from pathlib import Path

import numpy as np
import tyro

from udrl import Agent, Command
from udrl.cores import limit_cores


def obedience(
    agents: tyro.conf.Positional[tuple[Path, ...]],
    low: float = 20.0,
    high: float = 400.0,
    orders: int = 10,
    episodes: int = 100,
) -> None:
    """Order each of several returns, evenly spaced, in many episodes.

    The desired horizon is the return where the task gives one per step, else that of the end of training.
    """
    limit_cores(1)
    for path in agents:
        agent = Agent.load(path)
        desired = np.linspace(low, high, orders)
        if agent.config.horizon_is_return:
            desired = np.round(desired)
        evaluations = []
        for desired_return in desired:
            horizon = desired_return if agent.config.horizon_is_return else agent.aim.horizon
            evaluations.append(agent.evaluate(Command(float(desired_return), float(horizon)), episodes))
        obtained = np.array([evaluation.returns.mean() for evaluation in evaluations])
        line = {
            "agent": path.name,
            "desired": desired.tolist(),
            "obtained": obtained.round(2).tolist(),
            "std": [round(float(evaluation.returns.std()), 2) for evaluation in evaluations],
            "slope": round(float(np.polyfit(desired, obtained, 1)[0]), 3),
            "correlation": round(float(np.corrcoef(desired, obtained)[0, 1]), 3),
            "mean_relative_error": round(float(np.mean(np.abs(obtained - desired) / np.abs(desired))), 3),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    tyro.cli(obedience)
