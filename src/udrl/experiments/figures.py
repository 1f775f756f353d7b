"""The figures, each with its data as a table: learning curves, seeds, command sensitivity."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from udrl.experiments.results import Group, Run
from udrl.experiments.sensitivity import Sensitivity
from udrl.experiments.statistics import Curve
from udrl.experiments.style import FAINT, MARKERS, MUTED, STYLE, panels, series_style

DOTTED = (0, (1, 1.5))
MOST_NAMED = 8
"""Seeds that still have room for their numbers at the ends of their lines."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure with a name for its files, a sentence about it, and what is drawn in it."""

    name: str
    caption: str
    figure: Figure
    rows: list[dict[str, Any]]
    values: tuple[str, ...] = ()
    """Of the rows: what is across, what is up, and its deviation or its interval; for values under a pointer."""
    colors: dict[str, int] = dataclasses.field(default_factory=dict)
    """Of the series by their names."""


@dataclasses.dataclass(frozen=True)
class Line:
    """A group of seeds, and the place of its color in the palette."""

    group: Group
    curve: Curve
    color: int


def draw_learning(name: str, caption: str, lines: Sequence[Line], what: str, threshold: float | None) -> Picture:
    """The mean or iqm (`what`) of each group of one task, with its interval."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1)
        learning_panel(axes, lines, what, threshold)
        _legend(figure, len(lines))
    values = ("eval_at", what, f"{what}_low", f"{what}_high")
    colors = {line.group.label: line.color for line in lines}
    return Picture(name, caption, figure, learning_rows(lines, what), values, colors)


def draw_overview(name: str, caption: str, tasks: dict[str, tuple[Sequence[Line], float | None]]) -> Picture:
    """All tasks beside each other, as the paper has them."""
    with mpl.rc_context(STYLE):
        figure, all_axes = panels(len(tasks))
        for axes, (task, (lines, threshold)) in zip(all_axes, tasks.items(), strict=True):
            learning_panel(axes, lines, "mean", threshold)
            axes.set_title(task)
        _legend(figure, len({line.group.label for lines, _ in tasks.values() for line in lines}))
    return Picture(name, caption, figure, [row for lines, _ in tasks.values() for row in learning_rows(lines, "mean")])


def learning_panel(axes: Axes, lines: Sequence[Line], what: str, threshold: float | None) -> None:
    """Solid where every seed has been evaluated; a mean of fewer goes on dotted and without an interval."""
    if threshold is not None:
        axes.axhline(threshold, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"solved at {threshold:g}", (0, threshold), (3, 2), xycoords=("axes fraction", "data"),
            textcoords="offset points", fontsize=6.5, color=MUTED,
        )  # fmt: skip
    for line in lines:
        curve, style = line.curve, series_style(line.color)
        whole, values = curve.is_whole, getattr(curve, what)
        marker = {"marker": "o", "markersize": 3.0} if whole.sum() == 1 else {}
        axes.plot(curve.at[whole], values[whole], label=line.group.label, **style, **marker)
        low, high = (getattr(curve, f"{what}_{end}")[whole] for end in ("low", "high"))
        if np.isfinite(low).any():
            axes.fill_between(curve.at[whole], low, high, color=style["color"], alpha=0.18, linewidth=0)
        if what == "mean" and not whole.all():
            first = max(int(np.argmin(whole)) - 1, 0)  # joined to the solid part
            axes.plot(curve.at[first:], values[first:], color=style["color"], linestyle=DOTTED, linewidth=1.0)
    _name_axes(axes, {"mean": "mean evaluation return", "iqm": "interquartile mean return"}[what])


def learning_rows(lines: Sequence[Line], what: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in lines:
        curve = line.curve
        columns = {name: getattr(curve, name) for name in ("at", "n", what, f"{what}_low", f"{what}_high")}
        for values in zip(*columns.values(), strict=True):
            rows.append(
                {"task": line.group.task, "curve": line.group.label, "seeds": curve.n_seeds}
                | dict(zip(["eval_at", "n", *list(columns)[2:]], values, strict=True))
            )
    return rows


def draw_seeds(name: str, caption: str, line: Line, limits: tuple[float, float]) -> Picture:
    """Every seed of a group as a thin line, their mean as a thick one."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1)
        color = series_style(line.color)["color"]
        runs = line.group.evaluated
        for run in runs:
            at = [one.eval_at for one in run.evaluations]
            axes.plot(
                at, run.returns, color=color, alpha=0.55, linewidth=0.7, marker="o" * (len(at) == 1), markersize=3
            )
            if len(runs) <= MOST_NAMED:
                axes.annotate(
                    str(run.seed), (at[-1], run.returns[-1]), (2, 0), textcoords="offset points", va="center",
                    fontsize=6, color=MUTED,
                )  # fmt: skip
        whole = line.curve.is_whole
        axes.plot(line.curve.at[whole], line.curve.mean[whole], color=color, linewidth=1.8)
        axes.set_ylim(limits)
        axes.set_title(line.group.label)
        _name_axes(axes)
    return Picture(name, caption, figure, [row for run in runs for row in seed_rows(run, line.group.label)])


def seed_rows(run: Run, label: str) -> list[dict[str, Any]]:
    return [
        {"task": run.task, "curve": label, "seed": run.seed, "eval_at": one.eval_at, "return_mean": one.return_mean}
        for one in run.evaluations
    ]


def draw_sensitivity(name: str, caption: str, agents: dict[str, Sensitivity], title: str = "") -> Picture:
    """Obtained against desired returns of agents of one task, by their names, with deviations."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1)
        sensitivity_panel(axes, agents)
        axes.set_title(title)
    values, colors = ("desired_return", "return_mean", "return_std"), {label: i for i, label in enumerate(agents)}
    return Picture(name, caption, figure, sensitivity_rows(agents), values, colors)


def draw_obedience(name: str, caption: str, tasks: dict[str, dict[str, Sensitivity]]) -> Picture:
    """Command sensitivity on all tasks beside each other, as the paper has it."""
    with mpl.rc_context(STYLE):
        figure, all_axes = panels(len(tasks))
        for axes, (task, agents) in zip(all_axes, tasks.items(), strict=True):
            sensitivity_panel(axes, agents)
            axes.set_title(task)
    return Picture(name, caption, figure, [row for agents in tasks.values() for row in sensitivity_rows(agents)])


def sensitivity_panel(axes: Axes, agents: dict[str, Sensitivity]) -> None:
    low = min(agent.desired.min() for agent in agents.values())
    high = max(agent.desired.max() for agent in agents.values())
    axes.plot([low, high], [low, high], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), label="as desired")
    for i, (label, agent) in enumerate(agents.items()):
        correlation = "" if agent.correlation is None else f", R = {agent.correlation:.2f}"
        style, marker = series_style(i), MARKERS[i % len(MARKERS)]
        deviations = np.array([order.return_std for order in agent.orders])
        axes.errorbar(
            agent.desired, agent.obtained, deviations, color=style["color"], linestyle=style["linestyle"],
            marker=marker, markersize=3.6, markeredgewidth=0, linewidth=1.0, elinewidth=0.6,
            label=f"{label}{correlation}",
        )  # fmt: skip
    axes.set(xlabel="desired return", ylabel="obtained return")
    axes.legend(loc="upper left")


def sensitivity_rows(agents: dict[str, Sensitivity]) -> list[dict[str, Any]]:
    return [
        {"task": agent.task or agent.env_id, "agent": label, **dataclasses.asdict(order)}
        for label, agent in agents.items()
        for order in agent.orders
    ]


def _name_axes(axes: Axes, up: str = "evaluation return") -> None:
    axes.set(xlabel="environment steps", ylabel=up)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)
    axes.margins(x=0.02)
    axes.grid(True, axis="x", color=FAINT, alpha=0.5)


def _legend(figure: Figure, n: int) -> None:
    """Above the panels, each name once."""
    found = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside upper left", ncols=min(n, 2 * len(figure.axes), 4))
