"""The command line: train, evaluate, runs, tasks. Whatever takes long to import waits until it is needed."""

import contextlib
import dataclasses
import io
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from udrl import __version__
from udrl.api import resolve_settings, train_with
from udrl.config import Config, RunOptions
from udrl.errors import Interrupted, TrainingError, UserError, nearest
from udrl.tasks import TASKS

HELP = f"""udrl {__version__}: agents that follow commands, by Upside-Down Reinforcement Learning

  udrl train TASK      train an agent, or continue a run ("udrl train TASK --help" shows every setting)
  udrl evaluate RUN    command an agent and see what it obtains
  udrl runs [DIR]      list runs and how far they are
  udrl tasks           list tasks

Every command explains itself with --help. To begin: udrl train cartpole"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # a factory `module:function` may lie in the current folder
    name, *rest = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        if name in ("-h", "--help", "help"):
            print(HELP)
        elif name == "--version":
            print(__version__)
        elif name in COMMANDS:
            COMMANDS[name](rest)
        else:
            raise UserError(
                f"There is no command '{name}'.{nearest(name, list(COMMANDS))} Commands are {', '.join(COMMANDS)}."
            )
    except UserError as error:
        return _fail(error, 2)
    except TrainingError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("Stopped at once; what was saved before is kept.", 130)
    except BrokenPipeError:  # the reader of our output has gone: `udrl runs | head`
        sys.stderr.close()
        return 1
    except Interrupted as error:
        return _fail(error, error.exit_code)
    return 0


def _fail(error: Exception | str, code: int) -> int:
    print(f"udrl: {error}", file=sys.stderr)
    return code


@dataclasses.dataclass(frozen=True)
class TrainArguments:
    """Train an agent by Upside-Down Reinforcement Learning."""

    run: tyro.conf.OmitArgPrefixes[RunOptions]
    config: tyro.conf.OmitArgPrefixes[Config]
    paper_text: bool = False
    """Follow the paper's text to the letter where the authors' notebook, our default, differs from it."""
    start_from: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Begin with the parameters of this agent: a file or a run folder."""
    demonstrations: Path | None = None
    """Episodes for the replay to begin with: a file that udrl.save_episodes wrote."""


def train(arguments: list[str]) -> None:
    """`udrl train [TASK] [settings]`; the task decides the defaults of all settings."""
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    wants_help = any(word in ("-h", "--help") for word in arguments)
    has_env_id = any(word.split("=")[0].replace("_", "-") == "--env-id" for word in arguments)
    if task is None and not (wants_help or has_env_id):
        raise UserError(f"Say what to train on: a task ({', '.join(TASKS)}), or --env-id with a Gymnasium name.")
    if task is not None and has_env_id:
        raise UserError("Give a task or --env-id, not both.")
    paper_text = "--paper-text" in arguments or "--paper_text" in arguments
    config, options = resolve_settings(task, {} if task else {"env_id": Config.env_id}, paper_text)
    parsed = _parse(
        TrainArguments,
        arguments,
        f"udrl train {task or 'TASK'}",
        f"Train an agent; defaults are those of {task}." if task else f"Train an agent. Tasks: {', '.join(TASKS)}.",
        default=TrainArguments(run=options, config=config),
    )
    options = parsed.run
    if options.out is None:
        name = task or parsed.config.env_id.replace("/", "-").replace(":", "-")
        options = dataclasses.replace(options, out=Path("runs") / f"{name}-seed{parsed.config.seed}")
    print(f"Run folder {options.out}; Ctrl-C stops, the same command continues.")
    train_with(
        parsed.config,
        options,
        task,
        start_from=parsed.start_from,
        demonstrations=parsed.demonstrations or (),
    )
    print(f"Done. Command the agent: udrl evaluate {options.out} --desired-return R")


@dataclasses.dataclass(frozen=True)
class EvaluateArguments:
    """Command an agent in many episodes and see what it obtains."""

    run: tyro.conf.Positional[Path]
    """A run folder or an agent file."""
    desired_return: float | None = None
    """Return to ask for; without it the mean of the best episodes at the end of training."""
    desired_horizon: float | None = None
    """Steps to ask for; without it the mean length of the best episodes at the end of training."""
    episodes: int = 100
    """Number of episodes."""
    seed: int = 0
    """Which of the evaluation episodes: the same seed gives the same episodes."""
    best: bool = False
    """Take the run's best-evaluated agent instead of the newest."""
    env_id: str | None = None
    """The environment, for an agent of a factory module:function: a file alone never decides what is imported."""
    json: bool = False
    """Print one JSON object."""


def evaluate(arguments: list[str]) -> None:
    parsed = _parse(EvaluateArguments, arguments, "udrl evaluate")
    if parsed.episodes < 1 or parsed.seed < 0:
        raise UserError("episodes must be at least 1, and seed not negative.")
    from udrl.cores import limit_cores

    limit_cores(1)
    from udrl.agent import Agent
    from udrl.environments import find_environment

    agent = Agent.load(parsed.run, best=parsed.best)
    command = _command(agent, parsed.desired_return, parsed.desired_horizon)
    environment = None if parsed.env_id is None else find_environment(parsed.env_id)
    summary = agent.evaluate(command, parsed.episodes, parsed.seed, environment, quiet=parsed.json).summary()
    if parsed.json:
        import json

        print(json.dumps(summary))
        return
    print(
        f"desired {summary['desired_return']:.1f} in {summary['desired_horizon']:.0f} steps\n"
        f"obtained {summary['return_mean']:.1f} ± {summary['return_std']:.1f} "
        f"(from {summary['return_min']:.1f} to {summary['return_max']:.1f}) "
        f"in {summary['length_mean']:.0f} steps, {summary['episodes']} episodes"
    )
    low, high = agent.experience.return_min, agent.experience.return_max
    if not low <= summary["desired_return"] <= high:
        print(f"The agent has only seen returns from {low:.1f} to {high:.1f}: this order is outside of them.")


def _command(agent: Any, desired_return: float | None, desired_horizon: float | None) -> Any:
    """What was asked for, the rest as in the paper's evaluation."""
    from udrl.command import Command

    usual = agent.evaluation_command
    if desired_return is None:
        desired_return = float(usual.desired_return)
    if desired_horizon is None:
        desired_horizon = desired_return if agent.config.horizon_is_return else float(usual.desired_horizon)
    return Command(desired_return, desired_horizon)


@dataclasses.dataclass(frozen=True)
class RunsArguments:
    """List runs and how far they are."""

    folder: tyro.conf.Positional[Path] = Path("runs")
    """Where to look, at any depth."""


def runs(arguments: list[str]) -> None:
    parsed = _parse(RunsArguments, arguments, "udrl runs")
    from udrl.run_folder import find_runs, run_status

    rows = []
    if not parsed.folder.is_dir() and parsed.folder != RunsArguments.folder:
        raise UserError(f"There is no folder {parsed.folder}.")
    for path in find_runs(parsed.folder):
        status = run_status(path)
        rows.append([str(path), status["status"], _steps(status), _number(status, "last"), _number(status, "best")])
    if not rows:
        print(f"No runs in {parsed.folder}. Begin one: udrl train cartpole")
        return
    _print_table(["run", "state", "steps", "last evaluation", "best evaluation"], rows)


def _steps(status: dict[str, Any]) -> str:
    budget = f" of {status['budget']:,}" if status.get("budget") else ""
    return f"{status.get('env_steps', 0):,}{budget}"


def _number(status: dict[str, Any], name: str) -> str:
    return f"{status[name]:.1f}" if name in status else "-"


@dataclasses.dataclass(frozen=True)
class TasksArguments:
    """List tasks; any other Gymnasium environment goes by --env-id."""


def tasks(arguments: list[str]) -> None:
    _parse(TasksArguments, arguments, "udrl tasks")
    rows = [
        [task.name, task.config.env_id, f"{task.solved_return:g}", f"{task.env_steps:,}", task.summary]
        for task in TASKS.values()
    ]
    _print_table(["task", "environment", "solved at", "steps", "what it is"], rows)
    print("Any other Gymnasium environment: udrl train --env-id Acrobot-v1, or --env-id module:function")


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "train": train,
    "evaluate": evaluate,
    "runs": runs,
    "tasks": tasks,
}


def _parse(kind: type[Any], arguments: list[str], program: str, description: str | None = None, **more: Any) -> Any:
    """Arguments by the definition in a dataclass; a mistake becomes one sentence."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(kind, args=arguments, prog=program, description=description, **more)
    except SystemExit as stop:
        if not stop.code:
            raise
    # The first paragraph of the box that tyro draws says what is wrong; the rest repeats the help.
    lines = [line.strip("│ ") for line in complaint.getvalue().splitlines()[1:]]
    paragraph = itertools.takewhile(lambda line: not line.startswith(("─", "╰")), lines)
    flags = [f"--{field.name.replace('_', '-')}" for part in (Config, RunOptions, kind) for field in fields(part)]
    unknown = next((word for word in arguments if word.startswith("--") and word.split("=")[0] not in flags), "")
    raise UserError(f"{' '.join(paragraph)}.{nearest(unknown, flags)} See {program} --help.")


def _print_table(header: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
