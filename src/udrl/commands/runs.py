"""`udrl runs`."""

import dataclasses
from pathlib import Path
from typing import Any

import tyro

from udrl.commands.parsing import parse, print_table
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class RunsArguments:
    """List runs and how far they are."""

    folder: tyro.conf.Positional[Path] = Path("runs")
    """Where to look, at any depth."""


def main(arguments: list[str]) -> None:
    parsed = parse(RunsArguments, arguments, "udrl runs")
    from udrl.run_folder import find_runs, run_status

    if not parsed.folder.is_dir() and parsed.folder != RunsArguments.folder:
        raise UserError(f"There is no folder {parsed.folder}.")
    rows = []
    for path in find_runs(parsed.folder):
        status = run_status(path)
        rows.append([str(path), status["status"], _steps(status), _number(status, "last"), _number(status, "best")])
    if not rows:
        print(f"No runs in {parsed.folder}. Begin one: udrl train cartpole")
        return
    print_table(["run", "state", "steps", "last evaluation", "best evaluation"], rows)


def _steps(status: dict[str, Any]) -> str:
    budget = f" of {status['budget']:,}" if status.get("budget") else ""
    return f"{status.get('env_steps', 0):,}{budget}"


def _number(status: dict[str, Any], name: str) -> str:
    return f"{status[name]:.1f}" if name in status else "-"
