"""Learning curves as small files to keep in a repository: a line per evaluation, and the commands that made them."""

import csv
import io
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from udrl.checkpoint import whole_file
from udrl.errors import UserError
from udrl.experiments.results import Evaluation, Group, Run
from udrl.tasks import TASKS

COLUMNS = ["task", "algorithm", "variant", "seed", *Evaluation._fields]


def is_curve_file(file: Path) -> bool:
    """Whether a file has the columns of one."""
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            header = next((line for line in lines if not line.startswith("#")), "")
    except (OSError, UnicodeDecodeError):
        return False
    return set(COLUMNS) <= set(header.strip().split(","))


def read_curves(file: Path) -> list[Run]:
    """The runs of a curve file."""
    if not is_curve_file(file):
        raise UserError(f"{file} is no file of learning curves: it needs the columns {', '.join(COLUMNS)}.")
    found: dict[tuple[str, str, str, int], list[Evaluation]] = {}
    with open(file, encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        for row in rows:
            try:
                key = (row["task"], row["algorithm"], row["variant"], int(row["seed"]))
                rest = [float(row[name]) if row[name] else np.nan for name in Evaluation._fields[3:]]
                one = Evaluation(int(row["env_steps"]), int(row["eval_at"]), float(row["return_mean"]), *rest)
            except (TypeError, ValueError) as error:
                raise UserError(f"{file} has a line that cannot be read ({error}): {dict(row)}.") from None
            found.setdefault(key, []).append(one)
    return [Run(*key, tuple(evaluations)) for key, evaluations in found.items()]


def write_curves(folder: Path, groups: Sequence[Group], arguments: Sequence[str]) -> list[Path]:
    """A file per task, whose first lines say how it was made: by the command with these arguments, from runs of
    those commands."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for task in dict.fromkeys(group.task for group in groups):
        of_task = [group for group in groups if group.task == task]
        text = io.StringIO()
        text.write(f"# Evaluations of {task}; made by: udrl report {shlex.join(arguments)}\n")
        text.writelines(f"# {line}\n" for group in of_task for line in _origins(group))
        write_table(text, [row for group in of_task for row in _rows(group)], COLUMNS)
        files.append(folder / f"{file_name(task)}.csv")
        with whole_file(files[-1]) as temporary:
            temporary.write_text(text.getvalue())
    return files


def _rows(group: Group) -> Iterable[dict[str, Any]]:
    for run in group.runs:
        for one in run.evaluations:
            numbers = {name: shorten(value) for name, value in one._asdict().items()}
            yield {"task": run.task, "algorithm": run.algorithm, "variant": run.variant, "seed": run.seed, **numbers}


def _origins(group: Group) -> list[str]:
    """The commands that train runs like these, as far as their folders, or their data and their task, say it."""
    seeds: dict[str, list[str]] = {}
    for run in group.runs:
        seeds.setdefault(_command(run), []).append(str(run.seed))
    return [
        f"{group.label}: {command} --seed S, for S in {', '.join(of_it)}"
        if command
        else f"{group.label}: seeds {' '.join(of_it)}"
        for command, of_it in seeds.items()
    ]


def _command(run: Run) -> str:
    """What trains a run like this one, but for its seed; nothing for kept data of settings that only a word tells."""
    flags, budget = run.flags, run.budget
    if not run.state:
        if run.variant or run.task not in TASKS or not run.evaluations:
            return ""
        flags = "" if run.algorithm == "udrl" else f"--algorithm {run.algorithm}"
        budget = run.evaluations[-1].eval_at
    words = ["udrl train", run.task if run.task in TASKS else "", flags, f"--env-steps {budget}" if budget else ""]
    return " ".join(word for word in words if word)


def shorten(value: float) -> float | int | str:
    """Seven digits are more than any of these numbers is worth; nothing for NaN."""
    if isinstance(value, int | np.integer):
        return int(value)
    return float(f"{value:.7g}") if np.isfinite(value) else ""


def write_table(text: io.StringIO, rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> None:
    """Rows as CSV."""
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def file_name(name: str) -> str:
    """A name that any file system takes."""
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in name).strip("-")
