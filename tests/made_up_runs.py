"""Run folders with evaluations that a test makes up."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_run(
    folder: Path,
    returns: Sequence[float],
    task: str | None = "lunarlander",
    algorithm: str = "udrl",
    seed: int = 1,
    status: str = "finished",
    interval: int = 50_000,
    **config: Any,
) -> Path:
    """A run whose i-th evaluation came 1,000 steps past the i-th multiple and obtained returns[i], at 1,000 steps/s."""
    folder.mkdir(parents=True)
    about = {"udrl": "0.1.0", "task": task, "algorithm": algorithm, "env_id": "LunarLander-v3", "sparse": False}
    (folder / "config.json").write_text(json.dumps(about | {"seed": seed} | config))
    lines = [{"kind": "iteration", "env_steps": 10, "time/total": 0.01}]
    lines += [
        {
            "kind": "evaluation",
            "env_steps": (i + 1) * interval + 1000,
            "eval/at": (i + 1) * interval,
            "eval/return_mean": float(value),
            "eval/return_std": 1.0,
            "time/total": (i + 1) * interval / 1000 + 1,
        }
        for i, value in enumerate(returns)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    budget = {"status": status, "env_steps": len(returns) * interval, "budget": len(returns) * interval}
    (folder / "status.json").write_text(json.dumps(budget))
    return folder
