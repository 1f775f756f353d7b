"""`udrl sensitivity`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from udrl.commands.parsing import parse, print_table
from udrl.errors import UserError

if TYPE_CHECKING:
    from udrl.experiments.sensitivity import Sensitivity


@dataclasses.dataclass(frozen=True)
class SensitivityArguments:
    """Order a range of returns and see what each obtains: does the agent listen?

    Writes sensitivity.json, .csv, .svg and .png into the run folder. The desired horizon is the paper's: the return
    where a step earns 1, a tenth of it for the inverted double pendulum, else that of the end of training.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders or agent files."""
    low: float | None = None
    """Lowest return to ask for; without it what random actions obtained."""
    high: float | None = None
    """Highest return to ask for; without it the mean of the best episodes at the end of training."""
    orders: int = 20
    """Number of returns, evenly spaced."""
    episodes: int = 100
    """Episodes per order."""
    seed: int = 0
    """Which of the evaluation episodes: the same seed gives the same episodes."""
    threads: int = 1
    """Cores to use."""
    best: bool = False
    """Take the run's best-evaluated agent instead of the newest."""
    env_id: str | None = None
    """The environment, for an agent of a factory module:function: a file alone never decides what is imported."""
    out: Path | None = None
    """Folder for the files instead of the run's own; several runs get a folder each in it."""
    json: bool = False
    """Print one JSON object per run instead of a table."""


def main(arguments: list[str]) -> None:
    parsed = parse(SensitivityArguments, arguments, "udrl sensitivity")
    if parsed.episodes < 1 or parsed.orders < 1 or parsed.threads < 1 or parsed.seed < 0:
        raise UserError("episodes, orders and threads must be at least 1, and seed not negative.")
    if not parsed.runs:
        raise UserError("Name at least one run folder: udrl sensitivity runs/cartpole-seed1")
    from udrl.cores import limit_cores

    limit_cores(1)
    from udrl.engines import find_environment
    from udrl.experiments.sensitivity import load_commanded, measure_sensitivity

    environment = None if parsed.env_id is None else find_environment(parsed.env_id)
    agents = [load_commanded(run, parsed.best) for run in parsed.runs]  # what is wrong is said before the long part
    for run, agent in zip(parsed.runs, agents, strict=True):
        result = measure_sensitivity(
            agent,
            parsed.low,
            parsed.high,
            parsed.orders,
            parsed.episodes,
            parsed.seed,
            parsed.threads,
            environment,
            run,
            quiet=parsed.json,
        )
        folder = _folder(run, parsed.out, len(agents))
        result.save(folder)
        hint = _draw(result, folder)
        _print(result, folder, hint, parsed.json)


def _folder(run: Path, out: Path | None, n: int) -> Path:
    if out is None:
        return run if run.is_dir() else run.parent
    folder = out / run.name if n > 1 else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    return folder


def _draw(result: "Sensitivity", folder: Path) -> str:
    """The figure, or a sentence about why there is none."""
    try:
        from udrl.experiments.figures import draw_sensitivity
        from udrl.experiments.style import save_figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return "A figure needs an extra: pip install 'udrl[plots]'."
    picture = draw_sensitivity("sensitivity", "", {f"seed {result.seed}": result}, result.task or result.env_id)
    save_figure(picture.figure, folder / "sensitivity")
    return ""


def _print(result: "Sensitivity", folder: Path, hint: str, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(result.summary()))
        return
    print_table(
        ["desired", "in steps", "obtained", "std", "from", "to", "steps"],
        [
            [
                f"{order.desired_return:.1f}",
                f"{order.desired_horizon:.0f}",
                f"{order.return_mean:.1f}",
                f"{order.return_std:.1f}",
                f"{order.return_min:.1f}",
                f"{order.return_max:.1f}",
                f"{order.length_mean:.0f}",
            ]
            for order in result.orders
        ],
    )
    correlation, slope = ("-" if value is None else f"{value:.2f}" for value in (result.correlation, result.slope))
    print(
        f"{result.task or result.env_id} seed {result.seed}: correlation {correlation}, slope {slope}, mean error "
        f"{result.mean_absolute_error:.1f} ({result.mean_relative_error:.0%} of what was ordered)\n"
        f"Files: {folder}/sensitivity.*"
    )
    if hint:
        print(hint)
