"""`udrl train`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from udrl.api import resolve_baseline, resolve_settings, train_baseline, train_with
from udrl.baselines import Baseline
from udrl.commands.parsing import parse
from udrl.commands.settings_file import read_table, value_of_flag
from udrl.config import Conditions, Config, RunOptions
from udrl.errors import UserError
from udrl.tasks import TASKS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    algorithm: Literal["udrl", "dqn", "a2c", "ppo", "trpo", "ddpg"] = "udrl"
    """What is trained: our own, or a baseline under the same protocol (extra: udrl[baselines]); each has settings of
    its own, which --help shows beside it."""
    config_file: Annotated[Path | None, tyro.conf.arg(name="config")] = None
    """A TOML file of settings (learning_rate = 0.001), such as udrl search writes; flags win over it."""


@dataclasses.dataclass(frozen=True)
class TrainArguments(Choice):
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
    """`udrl train [TASK] [settings]`; the task and the algorithm decide the defaults of all settings."""
    task = _take_task(arguments)
    file = value_of_flag(arguments, "--config")
    settings: dict[str, Any] = read_table(Path(file)) if file else {}
    algorithm = value_of_flag(arguments, "--algorithm") or settings.get("algorithm", "udrl")
    if settings.pop("algorithm", algorithm) != algorithm:
        raise UserError(f"{file} is for another algorithm than {algorithm}.")
    if task is None:
        settings.setdefault("env_id", Config.env_id)
    if algorithm == "udrl":
        paper_text = "--paper-text" in arguments or "--paper_text" in arguments
        config, options = resolve_settings(task, settings, paper_text)
        default, what = TrainArguments(run=options, config=config), "Train an agent"
    else:
        config, options = resolve_baseline(algorithm, task, settings)
        kind = _baseline_arguments(type(config))
        default, what = (
            kind(run=options, config=config, algorithm=algorithm),
            f"Train a baseline: {type(config).__doc__}",
        )
    parsed = parse(
        type(default),
        arguments,
        f"udrl train {task or 'TASK'}",
        f"{what}. Defaults are those of {task}." if task else f"{what}. Tasks: {', '.join(TASKS)}.",
        default=default,
    )
    out = parsed.run.out or default_folder(parsed.config, task, algorithm)
    options = dataclasses.replace(parsed.run, out=out)
    if algorithm != "udrl":
        print(f"Run folder {out}; Ctrl-C stops, and what is begun again begins from zero.")
        train_baseline(parsed.config, options, task)
        return
    print(f"Run folder {out}; Ctrl-C stops, the same command continues.")
    train_with(
        parsed.config,
        options,
        task,
        start_from=parsed.start_from,
        demonstrations=parsed.demonstrations or (),
    )
    print(f"Done. Command the agent: udrl evaluate {out} --desired-return R")


def default_folder(config: Conditions, task: str | None, algorithm: str) -> Path:
    """Where a run goes that was given no folder."""
    name = task or config.env_id.replace("/", "-").replace(":", "-")
    return Path("runs") / f"{name}{'' if algorithm == 'udrl' else f'-{algorithm}'}-seed{config.seed}"


def _take_task(arguments: list[str]) -> str | None:
    """The task, if there is one, taken off the arguments."""
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    wants_help = any(word in ("-h", "--help") for word in arguments)
    has_env_id = any(word.split("=")[0].replace("_", "-") == "--env-id" for word in arguments)
    if task is None and not (wants_help or has_env_id):
        raise UserError(f"Say what to train on: a task ({', '.join(TASKS)}), or --env-id with a Gymnasium name.")
    if task is not None and has_env_id:
        raise UserError("Give a task or --env-id, not both.")
    return task


def _baseline_arguments(kind: type[Baseline]) -> type[Any]:
    """What `udrl train` takes with that algorithm."""
    parts = [("run", tyro.conf.OmitArgPrefixes[RunOptions]), ("config", tyro.conf.OmitArgPrefixes[kind])]
    return dataclasses.make_dataclass("TrainArguments", parts, bases=(Choice,), frozen=True)
