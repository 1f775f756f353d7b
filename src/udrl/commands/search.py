"""`udrl search`."""

import dataclasses
from pathlib import Path
from typing import Literal

import tyro

from udrl.commands.parsing import parse
from udrl.commands.settings_file import read_table
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class SearchArguments:
    """Search for good hyper-parameters on a task, over the paper's grid for it or one of your own.

    The score of a combination of values is the paper's: the mean of the last 20 evaluations, with seeds of the range
    for tuning, averaged over its runs. Ctrl-C stops; the same command goes on. The best values so far are in best.toml,
    for udrl train TASK --config best.toml.
    """

    task: tyro.conf.Positional[str]
    """The task's name; `udrl tasks` lists them."""
    algorithm: Literal["udrl", "dqn", "a2c", "ppo", "trpo", "ddpg"] = "udrl"
    """Whose hyper-parameters."""
    trials: int | None = None
    """Combinations to try; without it as many as in the paper (256 LunarLander, 72 TakeCover, 144 MuJoCo)."""
    seeds: int | None = None
    """Runs of each combination, with seeds 1, 2, ...; without it as many as in the paper (3, 2, 2)."""
    sampler: Literal["random", "tpe", "gp", "qmc"] = "random"
    """How combinations are drawn: at random as in the paper, or by one of Optuna's (extra: udrl[search])."""
    early_stopping: Literal["none", "asha", "median"] = "none"
    """Give bad combinations up before their budget is spent: asynchronous halving, or below the others' median."""
    env_steps: int | None = None
    """Budget of each run; without it the task's."""
    grid: Path | None = None
    """A TOML file of lists of values to choose from (learning_rate = [0.001, 0.01]) in place of the paper's grid."""
    config: Path | None = None
    """A TOML file of settings that all runs have, as for udrl train."""
    seed: int = 0
    """Which combinations are drawn."""
    out: Path | None = None
    """Where the run folders lie; without it runs/search-TASK-ALGORITHM."""
    address: str | None = None
    """A Ray cluster's address, or auto for the one of this machine; without it this machine's cores are used."""
    storage: Path | None = None
    """In place of --out: a folder that every node of the cluster sees, so that runs of a lost node go on elsewhere."""
    cores: int = 1
    """Cores of each run."""


def main(arguments: list[str]) -> None:
    parsed = parse(SearchArguments, arguments, "udrl search")
    if parsed.out is not None and parsed.storage is not None:
        raise UserError("Give --out or --storage, not both: the run folders lie in one place.")
    from udrl.tasks import find_task

    find_task(parsed.task)
    from udrl.experiments.grids import Grid, find_grid
    from udrl.experiments.search import BEST_FILE, Search, best_of
    from udrl.experiments.tuning import run_search

    if parsed.grid is not None:
        grid = Grid(read_table(parsed.grid), trials=32, seeds=2)
    else:
        grid = find_grid(parsed.task, parsed.algorithm)
    settings = read_table(parsed.config) if parsed.config else {}
    if settings.pop("algorithm", parsed.algorithm) != parsed.algorithm:
        raise UserError(f"{parsed.config} is for another algorithm than {parsed.algorithm}.")
    settings |= {"evaluation_seeds": "tuning"} | ({} if parsed.env_steps is None else {"env_steps": parsed.env_steps})
    folder = parsed.storage or parsed.out or Path("runs") / f"search-{parsed.task}-{parsed.algorithm}"
    search = Search(
        parsed.task,
        parsed.algorithm,
        grid,
        grid.trials if parsed.trials is None else parsed.trials,
        grid.seeds if parsed.seeds is None else parsed.seeds,
        settings,
        folder,
        parsed.sampler,
        parsed.early_stopping,
        parsed.seed,
        parsed.cores,
    )
    print(f"{search.trials} of {grid.size:,} combinations, {search.seeds} runs each, in {folder}; Ctrl-C stops.")
    best = best_of(run_search(search, parsed.address, parsed.storage is not None))
    assert best is not None
    print(f"The best has score {best.score:.2f}: {', '.join(f'{name} {value}' for name, value in best.values.items())}")
    print(f"Train with it: udrl train {parsed.task} --config {folder / BEST_FILE}")
