"""The sections of a report's page."""

from collections.abc import Sequence

from udrl.experiments.curve_files import file_name
from udrl.experiments.figures import Picture
from udrl.experiments.page import (
    MISSING,
    between,
    escape,
    figures,
    folded,
    labelled,
    number,
    section,
    steps,
    table,
    with_interval,
)
from udrl.experiments.tables import Row, threshold_of
from udrl.tasks import TASKS

ColoredRow = tuple[Row, int]
"""A row of a table, and the color that its curve has."""


def overview_section(rows: Sequence[ColoredRow]) -> str:
    """Every task against every algorithm: the mean of the last 20 evaluations."""
    tasks = list(dict.fromkeys(row["task"] for row, _ in rows))
    curves = dict(sorted({row["curve"]: color for row, color in rows}.items(), key=lambda item: item[1]))
    if len(tasks) < 2:
        return ""
    values = {(row["task"], row["curve"]): row for row, _ in rows if "last20" in row}
    cells: list[list[str]] = []
    for task in tasks:
        found = [values.get((task, curve)) for curve in curves]
        best = max((row["last20"] for row in found if row is not None), default=None)
        shown = [
            MISSING if row is None else _bold(with_interval(row, "last20"), row["last20"] == best) for row in found
        ]
        cells.append([f'<a href="#task-{file_name(task)}">{escape(task)}</a>', *shown])
    header = ["Task", *(labelled(curve, color) for curve, color in curves.items())]
    text = "Mean of the last 20 evaluations of every seed, over all seeds; the highest of each task in bold."
    return section("overview", "Overview", text, table("Final performance on every task", header, cells))


def task_section(task: str, rows: Sequence[ColoredRow], pictures: Sequence[Picture], seeds: Sequence[Picture]) -> str:
    """Curves, final performance and steps needed to solve of one task."""
    about = ""
    if task in TASKS:
        sparse = ", the whole reward at the last step" if TASKS[task].config.sparse else ""
        about = f"{TASKS[task].config.env_id}{sparse}; solved at a mean return of {TASKS[task].solved_return:g}."
    return section(
        f"task-{file_name(task)}",
        task,
        about if pictures else f"{about} No evaluation yet.".strip(),
        figures(pictures),
        folded(f"Every seed ({sum(row['seeds'] for row, _ in rows)})", figures(seeds)) if seeds else "",
        _performance_table(task, rows),
    )


def _performance_table(task: str, rows: Sequence[ColoredRow]) -> str:
    threshold = threshold_of(task)
    header = ["Algorithm", "Seeds", "Steps", "Last 5", "Last 20", "Last 20,<br>IQM", "Best"]
    if threshold is not None:
        header += [f"First ≥ {threshold:g}", f"Mean of 5<br>≥ {threshold:g}"]
    cells: list[list[str]] = []
    for row, color in rows:
        trained = between(row["env_steps_min"], row["env_steps_max"], steps) if row["seeds"] else MISSING
        some = f"{row['seeds']} of {row['runs']}" if row["seeds"] < row["runs"] else str(row["seeds"])
        line = [labelled(row["curve"], color), some, trained, with_interval(row, "last5"), with_interval(row, "last20")]
        line += [with_interval(row, "last20_iqm"), number(row.get("best"))]
        if threshold is not None:
            line += [_solved(row, name) for name in ("solved", "solved5")]
        cells.append(line)
    return table(f"Final performance and steps needed to solve, {task}", header, cells)


def _solved(row: Row, name: str) -> str:
    """The median of the steps that seeds needed, and how many of them did it."""
    if f"{name}_seeds" not in row:
        return MISSING
    return f"{steps(row[f'{name}_steps_median'])}<small>{row[f'{name}_seeds']} of {row['seeds']} seeds</small>"


def sensitivity_section(rows: Sequence[Row], pictures: Sequence[Picture]) -> str:
    """Obtained against desired returns."""
    if not rows:
        return ""
    header = ["Task", "Agent", "Trained for", "Orders", "Correlation", "Slope", "Mean error", "of what was<br>ordered"]
    cells = [
        [
            escape(row["task"]),
            escape(row["agent"]),
            steps(row["env_steps"]),
            f"{number(row['desired_min'])} to {number(row['desired_max'])}<small>{row['orders']}, "
            f"{row['episodes']} episodes each</small>",
            _two_digits(row["correlation"]),
            _two_digits(row["slope"]),
            number(row["mean_absolute_error"]),
            f"{row['mean_relative_error']:.0%}",
            escape(row["desired_horizon"]),
        ]
        for row in rows
    ]
    text = (
        "Does an agent listen? Each order is for another return; on the dashed line it obtains what was desired. "
        "Bars are one standard deviation of the episodes."
    )
    caption = "How agents answer orders for different returns"
    return section(
        "sensitivity",
        "Command sensitivity",
        text,
        figures(pictures),
        table(caption, [*header, "Desired horizon"], cells, words=(0, 1, 8)),
    )


def cost_section(rows: Sequence[ColoredRow]) -> str:
    """Speed and time."""
    if not rows:
        return ""
    header = ["Task", "Algorithm", "Runs", "Steps of a run", "Steps per second", "Minutes of a run", "Hours in all"]
    cells = [
        [
            escape(row["task"]),
            labelled(row["curve"], color),
            str(row["runs"]),
            steps(row["env_steps_mean"]),
            f"{row['steps_per_second_mean']:,.0f}"
            + _range(row["steps_per_second_min"], row["steps_per_second_max"], lambda value: f"{value:,.0f}"),
            number(row["minutes_mean"]) + _range(row["minutes_min"], row["minutes_max"], number),
            number(row["hours_total"]),
        ]
        for row, color in rows
    ]
    text = (
        "Training with its evaluations, by the clock, on whatever else the machine had to do. Steps of evaluation "
        "episodes are not counted, their time is."
    )
    return section("cost", "Speed and cost", text, table("Time that runs took", header, cells, words=(0, 1)))


def _range(low: float, high: float, show: object) -> str:
    """Below a mean, what it is of."""
    assert callable(show)
    return "" if show(low) == show(high) else f"<small>{show(low)} to {show(high)}</small>"


def _two_digits(value: float) -> str:
    return MISSING if value != value else f"{value:.2f}".replace("-", "−")


def _bold(text: str, is_best: bool) -> str:
    return f"<b>{text}</b>" if is_best else text
