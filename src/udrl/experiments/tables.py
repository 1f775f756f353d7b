"""The tables of a report: final performance, steps needed to solve, speed and cost, command sensitivity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from udrl.experiments.results import Group
from udrl.experiments.sensitivity import Sensitivity
from udrl.experiments.statistics import CONSECUTIVE, final_performance, median_steps, steps_to_solve
from udrl.tasks import TASKS

Row = dict[str, Any]


def threshold_of(task: str) -> float | None:
    """The return that solves a task, if it is a known one."""
    return TASKS[task].solved_return if task in TASKS else None


def performance(group: Group) -> Row:
    """Final performance of a group, and the steps that it needed to solve its task; NaN for what there is not."""
    runs = group.evaluated
    row: Row = {"task": group.task, "curve": group.label, "seeds": len(runs), "runs": len(group.runs)}
    if not runs:
        return row
    steps = [run.env_steps for run in runs]
    row |= {"env_steps_min": min(steps), "env_steps_max": max(steps)}
    row |= {"evaluations_min": min(len(run.evaluations) for run in runs)}
    for k in (5, 20):
        final = final_performance(runs, k)
        row |= {f"last{k}": final.mean, f"last{k}_low": final.low, f"last{k}_high": final.high}
        row |= {f"last{k}_iqm": final.iqm, f"last{k}_iqm_low": final.iqm_low, f"last{k}_iqm_high": final.iqm_high}
    row["best"] = max(float(run.returns.max()) for run in runs)
    threshold = threshold_of(group.task)
    if threshold is None:
        return row
    for name, consecutive in (("solved", 1), (f"solved{CONSECUTIVE}", CONSECUTIVE)):
        needed = [steps_to_solve(run, threshold, consecutive) for run in runs]
        row |= {f"{name}_seeds": int(np.isfinite(needed).sum()), f"{name}_steps_median": median_steps(needed)}
        row |= {f"{name}_steps_first": min(needed)}
    return row


def cost(group: Group) -> Row | None:
    """Speed and time of a group, of the runs that say how long they took."""
    runs = [run for run in group.evaluated if np.isfinite(run.seconds) and run.seconds > 0]
    if not runs:
        return None
    speeds = [run.env_steps / run.seconds for run in runs]
    minutes = [run.seconds / 60 for run in runs]
    return {
        "task": group.task,
        "curve": group.label,
        "runs": len(runs),
        "env_steps_mean": float(np.mean([run.env_steps for run in runs])),
        "steps_per_second_mean": float(np.mean(speeds)),
        "steps_per_second_min": min(speeds),
        "steps_per_second_max": max(speeds),
        "minutes_mean": float(np.mean(minutes)),
        "minutes_min": min(minutes),
        "minutes_max": max(minutes),
        "hours_total": sum(minutes) / 60,
    }


def obedience(label: str, agent: Sensitivity) -> Row:
    """How an agent answers orders, in numbers."""
    nothing = float("nan")
    return {
        "task": agent.task or agent.env_id,
        "agent": label,
        "env_steps": agent.env_steps,
        "orders": len(agent.orders),
        "episodes": min(order.episodes for order in agent.orders),
        "desired_min": float(agent.desired.min()),
        "desired_max": float(agent.desired.max()),
        "correlation": nothing if agent.correlation is None else agent.correlation,
        "slope": nothing if agent.slope is None else agent.slope,
        "mean_absolute_error": agent.mean_absolute_error,
        "mean_relative_error": agent.mean_relative_error,
        "desired_horizon": agent.horizon_rule,
    }


def notes_on(groups: Sequence[Group]) -> list[str]:
    """What a reader has to know about runs that are not whole."""
    notes: list[str] = []
    for group in groups:
        longest = max(len(run.evaluations) for run in group.runs)
        for run in group.runs:
            name = f"{group.task}, {group.label}, seed {run.seed}"
            state = run.state if run.state not in ("", "finished", "solved") else ""
            if not run.evaluations:
                notes.append(f"{name}: no evaluation yet{f' ({state})' if state else ''}; it counts nowhere.")
            elif state or len(run.evaluations) < longest:
                said = f"{state}, " if state else ""
                notes.append(f"{name}: {said}{len(run.evaluations)} evaluations, to {run.env_steps:,} steps.")
    return notes
