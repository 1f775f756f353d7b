"""`udrl report`."""

import dataclasses
from pathlib import Path

import tyro

from udrl.commands.parsing import parse
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class ReportArguments:
    """Compare runs: learning curves, final performance, steps to solve, command sensitivity and cost, on one page.

    Install it with pip install 'udrl[plots]'. Runs are found at any depth; run folders and kept data may be mixed.
    """

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs, or of data that --data wrote."""
    out: Path = Path("report")
    """Folder for index.html, and for figures and tables as files."""
    title: str = "Results"
    """Heading of the page."""
    data: Path | None = None
    """Write what the runs achieved as small files into this folder, to keep; a report can be made from them alone."""


def main(arguments: list[str]) -> None:
    parsed = parse(ReportArguments, arguments, "udrl report")
    if not parsed.folders:
        raise UserError("Name at least one folder of runs: udrl report runs")
    try:
        from udrl.experiments.report import write_report
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise UserError("Figures need an extra: pip install 'udrl[plots]'.") from None
    from udrl.experiments.gather import read_results, write_data

    results = read_results(parsed.folders)
    for note in results.notes:
        print(note)
    if parsed.data is not None:
        files = write_data(results, parsed.data, arguments)
        print(f"{len(files)} files of data in {parsed.data}")
    page = write_report(results, parsed.out, parsed.title, quiet=False)
    runs, tasks = sum(len(group.runs) for group in results.groups), len(results.tasks)
    print(f"{page}: {runs} run{'s' * (runs != 1)} on {tasks} task{'s' * (tasks != 1)}")
