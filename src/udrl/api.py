"""`udrl.train`: a task by name or any environment, settings by name, extensions as plain objects."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from udrl.config import PAPER_TEXT, Config, RunOptions, replace
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


def train(
    task: str | None = None,
    *,
    environment: "EnvironmentFactory | None" = None,
    network: "Network | None" = None,
    exploration: "ExplorationRule | None" = None,
    after_iteration: "AfterIteration | None" = None,
    start_from: "Agent | str | Path | None" = None,
    demonstrations: "Sequence[Episode] | str | Path" = (),
    paper_text: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> "Agent":
    """Train an agent and return it.

    `task` is a name that `udrl tasks` lists; without one, `env_id` names a Gymnasium environment, or `environment` is
    a function that makes one. `settings` are the fields of `udrl.Config` and `udrl.RunOptions`: `seed=1`,
    `env_steps=1_000_000`, `out="runs/mine"`, any hyper-parameter. Without `out` nothing is written.
    """
    config, options = resolve_settings(task, settings, paper_text, environment)
    return train_with(
        config,
        options,
        task,
        environment=environment,
        network=network,
        exploration=exploration,
        after_iteration=after_iteration,
        start_from=start_from,
        demonstrations=demonstrations,
        quiet=quiet,
    )


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


def resolve_settings(
    task: str | None, settings: dict[str, Any], paper_text: bool = False, environment: Any = None
) -> tuple[Config, RunOptions]:
    """The task's values, then the text's if those are wanted, then what was asked for by name."""
    of_config = {field.name for field in fields(Config)}
    of_options = {field.name for field in fields(RunOptions)}
    for name in settings:
        if name not in of_config | of_options:
            raise UserError(f"There is no setting '{name}'.{nearest(name, sorted(of_config | of_options))}")
    config, options = Config(), RunOptions()
    if task is not None:
        if environment is not None or "env_id" in settings:
            raise UserError("Give a task or an environment of your own, not both.")
        found = find_task(task)
        config, options = found.config, RunOptions(env_steps=found.env_steps, solved_return=found.solved_return)
    elif environment is not None:
        factory = environment if hasattr(environment, "__qualname__") else type(environment)
        config = replace(config, {"env_id": f"{factory.__module__}:{factory.__qualname__}"})
    elif "env_id" not in settings:
        raise UserError("Name a task (`udrl tasks` lists them), or an environment by env_id.")
    changes = {name: value for name, value in settings.items() if name in of_config}
    run_changes = {name: value for name, value in settings.items() if name in of_options}
    if isinstance(run_changes.get("out"), str):
        run_changes["out"] = Path(run_changes["out"])
    config = replace(config, {**(PAPER_TEXT if paper_text else {}), **changes})
    return config, replace(options, run_changes)
