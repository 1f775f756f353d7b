"""`udrl.train`: a task by name or any environment, settings by name, extensions as plain objects."""

import importlib.util
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from udrl.baselines import BASELINES, Baseline, defaults
from udrl.config import PAPER_TEXT, Conditions, Config, RunOptions, replace
from udrl.cores import limit_cores, own_cores
from udrl.errors import UserError, nearest
from udrl.tasks import find_task

if TYPE_CHECKING:
    from udrl.agent import Agent
    from udrl.behavior import Network
    from udrl.engines import EnvironmentFactory
    from udrl.episode import Episode
    from udrl.exploration import ExplorationRule
    from udrl.run import AfterIteration


ALGORITHMS = ("udrl", *BASELINES)

Settings = TypeVar("Settings", bound=Conditions)


@overload
def train(
    task: str | None = None,
    *,
    algorithm: Literal["udrl"] = "udrl",
    environment: "EnvironmentFactory | None" = None,
    network: "Network | None" = None,
    exploration: "ExplorationRule | None" = None,
    after_iteration: "AfterIteration | None" = None,
    start_from: "Agent | str | Path | None" = None,
    demonstrations: "Sequence[Episode] | str | Path" = (),
    paper_text: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> "Agent": ...
@overload
def train(
    task: str | None = None,
    *,
    algorithm: str,
    environment: "EnvironmentFactory | None" = None,
    quiet: bool = False,
    **settings: Any,
) -> Any: ...
def train(
    task: str | None = None,
    *,
    algorithm: str = "udrl",
    environment: "EnvironmentFactory | None" = None,
    network: "Network | None" = None,
    exploration: "ExplorationRule | None" = None,
    after_iteration: "AfterIteration | None" = None,
    start_from: "Agent | str | Path | None" = None,
    demonstrations: "Sequence[Episode] | str | Path" = (),
    paper_text: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> Any:
    """Train an agent and return it.

    `task` is a name that `udrl tasks` lists; without one, `env_id` names a Gymnasium environment, or `environment` is
    a function that makes one. `settings` are the fields of `udrl.Config` and `udrl.RunOptions`: `seed=1`,
    `env_steps=1_000_000`, `out="runs/mine"`, any hyper-parameter. Without `out` nothing is written.

    With `algorithm="ppo"` (or dqn, a2c, trpo, ddpg) the same run is a baseline's: `settings` are then those of
    `udrl.baselines`, and what is returned is Stable-Baselines3's algorithm, or None if `out` holds the run finished.
    """
    extensions = {
        "network": network,
        "exploration": exploration,
        "after_iteration": after_iteration,
        "start_from": start_from,
        "demonstrations": demonstrations,
    }
    if algorithm == "udrl":
        config, options = resolve_settings(task, settings, paper_text, environment)
        return train_with(config, options, task, environment=environment, quiet=quiet, **extensions)
    given = [name for name, value in (extensions | {"paper_text": paper_text}).items() if value]
    if given:
        raise UserError(f"{given[0]} is for UDRL: leave it out with algorithm={algorithm}.")
    baseline, options = resolve_baseline(algorithm, task, settings, environment)
    return train_baseline(baseline, options, task, environment=environment, quiet=quiet)


def train_with(
    config: Config,
    options: RunOptions,
    task: str | None = None,
    *,
    environment: "EnvironmentFactory | None" = None,
    network: "Network | None" = None,
    exploration: "ExplorationRule | None" = None,
    after_iteration: "AfterIteration | None" = None,
    start_from: "Agent | str | Path | None" = None,
    demonstrations: "Sequence[Episode] | str | Path" = (),
    quiet: bool = False,
) -> "Agent":
    """`train`, for settings that are complete."""
    limit_cores(options.threads)
    # JAX is imported here, so that its threads are what was asked for.
    from udrl.agent import agent_from
    from udrl.demonstrations import load_episodes
    from udrl.run import run
    from udrl.training import Extensions, Training

    if isinstance(demonstrations, str | Path):
        demonstrations = load_episodes(demonstrations)
    start = None if start_from is None else agent_from(start_from, network)
    extensions = Extensions(environment, network, exploration, start, demonstrations)
    with own_cores(options.threads):
        training = Training(config, extensions, task, options.n_workers, options.device)
        return run(training, options, after_iteration, quiet)


def train_baseline(
    settings: Baseline,
    options: RunOptions,
    task: str | None = None,
    *,
    environment: "EnvironmentFactory | None" = None,
    quiet: bool = False,
) -> Any:
    """`train` with another algorithm, for settings that are complete."""
    package = "sb3_contrib" if settings.algorithm == "trpo" else "stable_baselines3"
    if importlib.util.find_spec(package) is None:
        raise UserError("The baselines need an extra: pip install 'udrl[baselines]'.")
    limit_cores(options.threads)
    with own_cores(options.threads):
        # PyTorch is imported here, on the cores that it may use.
        from udrl.baselines.run import run_baseline

        return run_baseline(settings, options, task, environment, quiet)


def resolve_settings(
    task: str | None, settings: dict[str, Any], paper_text: bool = False, environment: Any = None
) -> tuple[Config, RunOptions]:
    """The task's values, then the text's if those are wanted, then what was asked for by name."""
    config = Config() if task is None else find_task(task).config
    return _resolve(replace(config, PAPER_TEXT) if paper_text else config, task, settings, environment)


def resolve_baseline(
    algorithm: str, task: str | None, settings: dict[str, Any], environment: Any = None
) -> tuple[Baseline, RunOptions]:
    """A baseline's values for the task, then what was asked for by name."""
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise UserError(f"There is no algorithm '{algorithm}'.{nearest(algorithm, ALGORITHMS)} There are {known}.")
    return _resolve(defaults(algorithm, task), task, settings, environment)


def _resolve(
    config: Settings, task: str | None, settings: dict[str, Any], environment: Any
) -> tuple[Settings, RunOptions]:
    of_config = {field.name for field in fields(config)}
    of_options = {field.name for field in fields(RunOptions)}
    for name in settings:
        if name not in of_config | of_options:
            raise UserError(f"There is no setting '{name}'.{nearest(name, sorted(of_config | of_options))}")
    options = RunOptions()
    if task is not None:
        if environment is not None or "env_id" in settings:
            raise UserError("Give a task or an environment of your own, not both.")
        found = find_task(task)
        options = RunOptions(env_steps=found.env_steps, solved_return=found.solved_return)
    elif environment is not None:
        factory = environment if hasattr(environment, "__qualname__") else type(environment)
        config = replace(config, {"env_id": f"{factory.__module__}:{factory.__qualname__}"})
    elif "env_id" not in settings:
        raise UserError("Name a task (`udrl tasks` lists them), or an environment by env_id.")
    changes = {name: value for name, value in settings.items() if name in of_config}
    run_changes = {name: value for name, value in settings.items() if name in of_options}
    if isinstance(run_changes.get("out"), str):
        run_changes["out"] = Path(run_changes["out"])
    return replace(config, changes), replace(options, run_changes)
