"""Everything that a report is about: run folders, and the small files that are kept of them."""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from udrl.checkpoint import write_json
from udrl.errors import UserError
from udrl.experiments.curve_files import file_name, is_curve_file, read_curves, write_curves
from udrl.experiments.results import Group, group_runs, read_runs, runs_below
from udrl.experiments.sensitivity import KIND, SENSITIVITY, Sensitivity, load_sensitivity
from udrl.experiments.tables import notes_on
from udrl.run_folder import read_json


@dataclasses.dataclass(frozen=True)
class Results:
    """What was found."""

    groups: list[Group]
    agents: dict[str, dict[str, Sensitivity]]
    """By task and by name: agents whose answers to orders were measured."""
    notes: list[str]
    """What a reader has to know about runs that are not whole."""

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(group.task for group in self.groups))


def read_results(paths: Sequence[Path]) -> Results:
    """Everything in run folders and data folders, at any depth, and in data files."""
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no {path}: name folders of runs, or data that udrl report --data wrote.")
    notes: list[str] = []
    runs = read_runs(runs_below(paths), notes)
    measured: dict[Path, Sensitivity] = {}
    for file in _data_files(paths):
        if file.suffix == ".json":
            measured[file] = load_sensitivity(file)
        else:
            runs += read_curves(file)
    groups = group_runs(runs, notes)
    if not groups and not measured:
        where = ", ".join(map(str, paths))
        raise UserError(f"There are no runs in {where}. Begin one: udrl train cartpole")
    return Results(groups, _name_agents(measured), notes + notes_on(groups))


def write_data(results: Results, folder: Path, arguments: Sequence[str]) -> list[Path]:
    """What `read_results` found, as small files that it reads too: FOLDER/curves and FOLDER/sensitivity."""
    try:
        files = write_curves(folder / "curves", results.groups, arguments)
        for task, agents in results.agents.items():
            (folder / "sensitivity").mkdir(exist_ok=True)
            for name, agent in agents.items():
                files.append(folder / "sensitivity" / f"{file_name(f'{task}-{name}')}.json")
                write_json(files[-1], agent.summary())
    except OSError as error:
        raise UserError(f"The data cannot be written into {folder}: {error.strerror}.") from None
    return files


def _data_files(paths: Iterable[Path]) -> list[Path]:
    """Curve files and sensitivities; a file that is named itself has to be one."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [file for file in sorted(path.rglob("*.csv")) if is_curve_file(file)]
            there = [*path.rglob(SENSITIVITY), *path.rglob("sensitivity/*.json")]
            found += [file for file in sorted(there) if read_json(file).get("kind") == KIND]
        else:
            found.append(path)
    return list(dict.fromkeys(file.resolve() for file in found))


def _name_agents(measured: dict[Path, Sensitivity]) -> dict[str, dict[str, Sensitivity]]:
    """By task and seed; where two have the same, by where they are too. The same result twice counts once."""
    agents: dict[str, dict[str, Sensitivity]] = {}
    places = {result: path for path, result in measured.items()}
    for result, path in places.items():
        of_task = agents.setdefault(result.task or result.env_id, {})
        name = f"seed {result.seed}"
        if name in of_task:
            name += f" of {path.parent.name if path.name == SENSITIVITY else path.stem}"
        of_task[name] = result
    return {task: agents[task] for task in sorted(agents)}
