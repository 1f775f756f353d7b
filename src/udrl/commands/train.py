"""`udrl train`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from udrl.api import resolve_settings, train_with
from udrl.commands.parsing import parse
from udrl.config import Config, RunOptions
from udrl.errors import UserError
from udrl.tasks import TASKS


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


def main(arguments: list[str]) -> None:
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
    parsed = parse(
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
