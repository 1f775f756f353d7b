"""A report on many runs: figures with their data, tables, and one page."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from udrl import __version__
from udrl.checkpoint import whole_file
from udrl.errors import UserError
from udrl.experiments.curve_files import file_name, shorten, write_table
from udrl.experiments.figures import (
    Line,
    Picture,
    draw_learning,
    draw_obedience,
    draw_overview,
    draw_seeds,
    draw_sensitivity,
)
from udrl.experiments.gather import Results
from udrl.experiments.page import bullets, escape, fill_page, section
from udrl.experiments.results import Group
from udrl.experiments.sections import cost_section, overview_section, sensitivity_section, task_section
from udrl.experiments.statistics import N_RESAMPLES, curve_of
from udrl.experiments.style import save_figure
from udrl.experiments.tables import Row, cost, obedience, performance, threshold_of


@dataclasses.dataclass(frozen=True)
class Drawings:
    """All figures of a report."""

    learning: dict[str, list[Picture]]
    """By task."""
    seeds: dict[str, list[Picture]]
    """By task."""
    sensitivity: list[Picture]
    overviews: list[Picture]
    """Several tasks in one figure: files only, the page has them one by one."""

    def all(self) -> list[Picture]:
        of_tasks = [picture for by_task in (self.learning, self.seeds) for some in by_task.values() for picture in some]
        return [*of_tasks, *self.sensitivity, *self.overviews]


def write_report(results: Results, out: Path, title: str = "Results", quiet: bool = True) -> Path:
    """Write OUT/index.html, OUT/*.csv with its tables, and OUT/figures: each as SVG and PNG, with its data as CSV."""
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {out} cannot be made: {error.strerror}.") from None
    colors = color_places(results.groups)
    drawings = draw(results, colors)
    page = make_page(results, drawings, colors, title)
    console = Console(stderr=True)
    hide = quiet or not console.is_terminal
    for picture in track(drawings.all(), "figures", console=console, transient=True, disable=hide):
        save_figure(picture.figure, out / "figures" / picture.name)
        write_rows(out / "figures" / f"{picture.name}.csv", picture.rows)
    for name, rows in tables_of(results).items():
        write_rows(out / f"{name}.csv", rows)
    with whole_file(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return out / "index.html"


def color_places(groups: Sequence[Group]) -> dict[str, int]:
    """A color for each algorithm and setting, the same on all tasks; ours come first."""
    labels = sorted({(group.algorithm != "udrl", group.label) for group in groups})
    return {label: i for i, (_, label) in enumerate(labels)}


def draw(results: Results, colors: dict[str, int]) -> Drawings:
    learning: dict[str, list[Picture]] = {}
    seeds: dict[str, list[Picture]] = {}
    overview: dict[str, tuple[Sequence[Line], float | None]] = {}
    for task in results.tasks:
        groups = [group for group in results.groups if group.task == task and group.evaluated]
        lines = [Line(group, curve_of(group.evaluated), colors[group.label]) for group in groups]
        learning[task], seeds[task] = draw_task(task, lines) if lines else ([], [])
        if lines:
            overview[task] = lines, threshold_of(task)
    sensitivity = [
        draw_sensitivity(f"sensitivity-{file_name(task)}", f"Obtained against desired return, {task}.", agents, task)
        for task, agents in results.agents.items()
    ]
    overviews: list[Picture] = []
    if overview:
        overviews.append(draw_overview("learning", "Learning curves of all tasks.", overview))
    if results.agents:
        overviews.append(draw_obedience("obedience", "Obtained against desired return.", results.agents))
    return Drawings(learning, seeds, sensitivity, overviews)


def draw_task(task: str, lines: Sequence[Line]) -> tuple[list[Picture], list[Picture]]:
    """Mean and interquartile mean of each group, and the seeds of each."""
    name, threshold = file_name(task), threshold_of(task)
    words = {
        "mean": f"Mean evaluation return of the seeds, {task}, with its 95 % bootstrap interval.",
        "iqm": f"Interquartile mean of the seeds, {task}, with its 95 % bootstrap interval.",
    }
    learning = [draw_learning(f"{kind}-{name}", caption, lines, kind, threshold) for kind, caption in words.items()]
    returns = np.concatenate([run.returns for line in lines for run in line.group.evaluated])
    low, high = float(returns.min()), float(returns.max())
    margin = 0.04 * (high - low) or 1.0
    seeds = [
        draw_seeds(
            f"seeds-{name}-{file_name(line.group.label)}",
            f"Every seed of {line.group.label}, {task}, and their mean.",
            line,
            (low - margin, high + margin),
        )
        for line in lines
    ]
    return learning, seeds


def tables_of(results: Results) -> dict[str, list[Row]]:
    """The page's tables, as files have them."""
    costs = [cost(group) for group in results.groups]
    return {
        "performance": [performance(group) for group in results.groups],
        "cost": [row for row in costs if row is not None],
        "sensitivity": [obedience(name, agent) for agents in results.agents.values() for name, agent in agents.items()],
    }


def make_page(results: Results, drawings: Drawings, colors: dict[str, int], title: str) -> str:
    rows = {
        name: [(row, colors.get(row.get("curve", ""), 0)) for row in table]
        for name, table in tables_of(results).items()
    }
    overview = overview_section(rows["performance"])
    sections, contents = [overview], {"overview": "Overview"} if overview else {}
    for task in results.tasks:
        of_task = [row for row in rows["performance"] if row[0]["task"] == task]
        sections.append(task_section(task, of_task, drawings.learning[task], drawings.seeds[task]))
        contents[f"task-{file_name(task)}"] = task
    sections.append(sensitivity_section([row for row, _ in rows["sensitivity"]], drawings.sensitivity))
    sections.append(cost_section(rows["cost"]))
    contents |= {"sensitivity": "Command sensitivity"} if rows["sensitivity"] else {}
    contents |= {"cost": "Speed and cost"} if rows["cost"] else {}
    if results.notes:
        sections.append(section("notes", "Runs that are not whole", "", bullets(results.notes)))
        contents["notes"] = "Notes"
    sections.append(section("about", "How to read this", "", bullets(EXPLANATIONS)))
    contents["about"] = "How to read this"
    links = ", ".join(f'<a href="{name}.csv">{name}</a>' for name in rows if rows[name])
    footer = f"Made by udrl {escape(__version__)} from {escape(summary_of(results))}. Tables as CSV: {links}."

    return fill_page(title, summary_of(results), contents, sections, footer)


EXPLANATIONS = [
    "An evaluation is the mean return of many episodes with seeds of their own; agents of udrl are commanded to obtain "
    "what their best episodes so far obtained. Seeds line up on the multiple of the evaluation interval.",
    f"Shaded: the 95 % percentile bootstrap interval over seeds ({N_RESAMPLES:,} samples of whole runs). Where a seed "
    "has no evaluation, the mean of the others goes on as a dotted line without interval.",
    "Last 5 and last 20: the mean of the last evaluations of each seed (all of them, where there are fewer), over "
    "seeds, with the interval of that mean. Best: the highest single evaluation of any seed.",
    "IQM: the interquartile mean over seeds, a quarter of them left out at each end; of fewer than four seeds it is "
    "their mean.",
    "Steps needed to solve: the median over all seeds of the environment steps at the first evaluation at or above the "
    "threshold, and at the end of the first five whose mean is; a dash where half of them or more did not get there.",
]


def summary_of(results: Results) -> str:
    """What a report is about, in a line."""
    runs = [run for group in results.groups for run in group.runs]
    n_algorithms = len({group.algorithm for group in results.groups})
    parts = [_count(len(results.tasks), "task"), _count(n_algorithms, "algorithm"), _count(len(runs), "run")]
    steps = sum(run.env_steps for run in runs)
    parts.append(f"{steps / 1e6:,.1f} million environment steps" if steps >= 1e6 else f"{steps:,} environment steps")
    hours = sum(run.seconds for run in runs if np.isfinite(run.seconds)) / 3600
    parts += [f"{hours:,.1f} hours of training"] * (hours >= 0.1)
    return ", ".join(parts)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    """A table as CSV, with a column for every name that a row has."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    shown = [{name: value if isinstance(value, str) else shorten(value) for name, value in row.items()} for row in rows]
    write_table(text, shown, columns)
    with whole_file(file) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")
