"""`udrl experiment`."""

import dataclasses
from pathlib import Path

import tyro

from udrl.commands.parsing import parse, print_table
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class ExperimentArguments:
    """Carry out all runs of an experiment: a small TOML file of tasks, algorithms, seeds and settings.

    Ctrl-C stops; the same command does what is still missing. docs/experiments.md describes the file.
    """

    file: tyro.conf.Positional[Path]
    """The experiment's TOML file."""
    out: Path | None = None
    """Where the run folders lie; without it runs/NAME."""
    address: str | None = None
    """A Ray cluster's address, or auto for the one of this machine; without it this machine's cores are used."""
    storage: Path | None = None
    """In place of --out: a folder that every node of the cluster sees, so that runs of a lost node go on elsewhere."""
    cores: int = 1
    """Cores of each run."""
    dry_run: bool = False
    """Only check the file, and list its runs and how far they are."""


def main(arguments: list[str]) -> None:
    parsed = parse(ExperimentArguments, arguments, "udrl experiment")
    if parsed.cores < 1:
        raise UserError("cores must be at least 1.")
    if parsed.out is not None and parsed.storage is not None:
        raise UserError("Give --out or --storage, not both: the run folders lie in one place.")
    from udrl.experiments.definition import load_experiment

    experiment = load_experiment(parsed.file)
    folder = parsed.storage or parsed.out or Path("runs") / experiment.name
    from udrl.experiments.runner import complain, run_experiment, state_of

    if parsed.dry_run:
        states = [state_of(run, folder) for run in experiment.runs]
        rows = [
            [state.run.name, f"{state.env_steps:,} of {state.budget:,}", _show(state.run.settings), state.status]
            for state in states
        ]
        print_table(["run", "steps", "settings", "state"], rows)
        total = sum(state.budget for state in states)
        print(f"{len(states)} runs, {total:,} steps; {folder} has {sum(s.status == 'done' for s in states)} of them.")
        return
    print(f"{len(experiment.runs)} runs in {folder}; Ctrl-C stops, the same command continues.")
    states = run_experiment(experiment, folder, parsed.address, shared=parsed.storage is not None, cores=parsed.cores)
    complain(states)
    print(f"Done. See them: udrl runs {folder}")


def _show(settings: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items() if name != "env_steps")
