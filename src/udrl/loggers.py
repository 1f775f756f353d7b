"""Where else metrics go than into the run folder: TensorBoard, Weights & Biases."""

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from udrl.config import RunOptions
from udrl.errors import UserError
from udrl.run_folder import Metrics

Log = Callable[[Metrics], None]
"""Takes one line of metrics."""

WANDB_ID = "wandb_id"


def check_loggers(options: RunOptions) -> None:
    """Before anything is begun."""
    wanted = [("tensorboard", "tensorboardX", "TensorBoard")] if options.tensorboard else []
    wanted += [("wandb", "wandb", "Weights & Biases")] if options.wandb else []
    for extra, module, name in wanted:
        if options.out is None:
            raise UserError(f"The files of {name} go into the run folder: give one as out.")
        if importlib.util.find_spec(module) is None:
            raise UserError(f"Logging for {name} needs an extra: pip install 'udrl[{extra}]'.")


@contextlib.contextmanager
def open_loggers(
    options: RunOptions, identity: Mapping[str, Any], task: str | None, env_steps: int
) -> Iterator[list[Log]]:
    """The loggers that were asked for; a run that goes on does so from `env_steps`."""
    with contextlib.ExitStack() as stack:
        logs: list[Log] = []
        if options.tensorboard and options.out is not None:
            logs.append(stack.enter_context(_tensorboard(options.out, env_steps)))
        if options.wandb and options.out is not None:
            logs.append(stack.enter_context(_wandb(options.out, identity, task, env_steps)))
        yield logs


@contextlib.contextmanager
def _tensorboard(out: Path, env_steps: int) -> Iterator[Log]:
    from tensorboardX import SummaryWriter

    def log(metrics: Metrics) -> None:
        for name, value in _numbers(metrics).items():
            writer.add_scalar(name, value, metrics["env_steps"])
        writer.flush()

    with SummaryWriter(str(out / "tensorboard"), purge_step=env_steps) as writer:
        yield log


@contextlib.contextmanager
def _wandb(out: Path, identity: Mapping[str, Any], task: str | None, env_steps: int) -> Iterator[Log]:
    """A run that goes on does so under its old identifier, kept beside its metrics; one from zero gets a new one."""
    import wandb
    import wandb.errors
    from wandb.sdk.lib.runid import generate_id

    file = out / WANDB_ID
    identifier = file.read_text().strip() if env_steps and file.exists() else generate_id()
    file.write_text(identifier)
    name = f"{task or identity['env_id']} {identity['algorithm']} seed {identity['seed']}"
    try:
        # What is printed stays ours: W&B would catch it and write it anew.
        settings = wandb.Settings(silent=True, console="off")
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "udrl"),
            name=name,
            config={"task": task, **identity},
            dir=out,
            id=identifier,
            resume="allow",
            settings=settings,
        )
    except wandb.errors.Error as error:
        advice = "wandb login, or WANDB_MODE=offline without an account"
        raise UserError(f"Weights & Biases cannot be reached ({error}): {advice}.") from None
    # Over env_steps instead of W&B's own counter, which a run that goes on from a checkpoint would be behind.
    run.define_metric("*", step_metric="env_steps")
    try:
        yield lambda metrics: run.log({"env_steps": metrics["env_steps"], **_numbers(metrics)})
    finally:
        run.finish()


def _numbers(metrics: Metrics) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if "/" in name and isinstance(value, int | float)}
