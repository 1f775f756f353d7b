"""One run of a baseline: Stable-Baselines3's own loop, with the protocol of UDRL's runs around it."""

import contextlib
import dataclasses
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger

from udrl.baselines.algorithms import make_algorithm
from udrl.baselines.copies import Ended, action_space, make_copies, make_environments, observation_space
from udrl.baselines.evaluation import BaselineCollector, how_to_act
from udrl.baselines.protocol import Protocol
from udrl.baselines.settings import BASELINES, Baseline
from udrl.config import RunOptions
from udrl.engines import EnvironmentFactory
from udrl.environments import Environments
from udrl.errors import Interrupted, TrainingError, UserError
from udrl.loggers import check_loggers, open_loggers
from udrl.progress import Progress
from udrl.run import stop_signals
from udrl.run_folder import STATUS, RunFolder, qualified_name, read_json


def run_baseline(
    settings: Baseline,
    options: RunOptions,
    task: str | None = None,
    environment: EnvironmentFactory | None = None,
    quiet: bool = False,
) -> BaseAlgorithm | None:
    """Train a baseline from its first step to its last and return it; None if its folder holds it finished.

    Nothing of the algorithm is saved: the library's files are pickles, which nobody should load from strangers.
    """
    check_loggers(options)
    torch.set_num_threads(options.threads)
    identity = identity_of(settings, options, environment)
    name = task or settings.env_id
    title = f"{name} {settings.algorithm} seed {settings.seed}"
    progress = Progress(title, options.env_steps, options.solved_return, quiet, beginning="beginning")
    with contextlib.ExitStack() as stack:
        environments = make_environments(settings, environment)
        stack.callback(environments.close)
        check_fit(settings, environments, name)
        device = choose_device(options, environments)
        folder = None
        if options.out is not None:
            folder = RunFolder(options.out, task, identity)
            stack.callback(folder.close)
            if is_done(folder, progress):
                return None
        ended: list[Ended] = []
        copies = make_copies(settings, environment, ended)
        stack.callback(copies.close)
        algorithm = make_algorithm(settings, copies, device)
        collector = BaselineCollector(environments, algorithm)
        stack.enter_context(progress)
        logs = stack.enter_context(open_loggers(options, identity, task, 0))
        logs = logs if folder is None else [folder.log, *logs]
        protocol = Protocol(settings, options, collector, ended, progress, logs)
        learn(algorithm, protocol, options, folder)
        return algorithm


def learn(algorithm: BaseAlgorithm, protocol: Protocol, options: RunOptions, folder: RunFolder | None) -> None:
    """Up to the budget, and the last evaluation; the folder is told how it ended."""
    algorithm.set_logger(Logger(folder=None, output_formats=[]))  # the library's own would make a folder
    status = "failed"

    def tell(status: str) -> None:
        if folder is not None:
            folder.set_status(status, algorithm.num_timesteps, options.env_steps)

    tell("running")
    try:
        with stop_signals() as protocol.stopped:
            _learn(algorithm, protocol, options.env_steps)
            if protocol.stopped.number is not None:
                steps = f"Stopped at {algorithm.num_timesteps:,} steps"
                again = "a baseline keeps no checkpoints, so the same command begins again from zero."
                raise Interrupted(protocol.stopped.number, f"{steps}; {again}")
            status = protocol.finish()
    except (Interrupted, KeyboardInterrupt):
        status = "stopped"
        raise
    finally:
        with contextlib.suppress(TrainingError):  # a full disk must not hide why the run ended
            tell(status)


def _learn(algorithm: BaseAlgorithm, protocol: Protocol, env_steps: int) -> None:
    try:
        algorithm.learn(env_steps, protocol, log_interval=None)  # type: ignore[arg-type] (the subclasses' own)
    except ValueError as error:  # torch's, about the parameters of a distribution
        protocol.check_finite()
        raise TrainingError(f"Training failed: {error}") from error


def is_done(folder: RunFolder, progress: Progress) -> bool:
    """Whether the folder holds this run to its end; one that was cut begins again."""
    file = folder.path / STATUS
    status = read_json(file) if file.exists() else {}
    if status.get("status") in ("finished", "solved"):
        progress.say(
            f"{folder.path} is {status['status']}, with {status.get('env_steps', 0):,} steps: nothing is left to do. "
            "Another seed or folder makes another run."
        )
        return True
    if status:
        progress.say(f"{folder.path} was cut. A baseline keeps no checkpoints: it begins again from zero.")
    folder.cut_metrics(0)
    return False


def identity_of(settings: Baseline, options: RunOptions, environment: EnvironmentFactory | None) -> dict[str, Any]:
    """What makes two runs the same. The budget is part of it: schedules run over the whole of it."""
    return {
        "algorithm": settings.algorithm,
        **dataclasses.asdict(settings),
        "environment": qualified_name(environment),
        "env_steps": options.env_steps,
    }


def check_fit(settings: Baseline, environments: Environments, name: str) -> None:
    """Refuse an algorithm that cannot act here, and what does not fit images."""
    space = action_space(environments.actions)
    fits = {"dqn": isinstance(space, Discrete), "ddpg": isinstance(space, Box)}
    if not fits.get(settings.algorithm, True):
        kind = "continuous" if isinstance(space, Box) else "discrete"
        kind = kind if isinstance(space, Discrete | Box) else "several discrete ones at a time"
        wanted = "continuous" if settings.algorithm == "ddpg" else "discrete"
        others = ", ".join(name for name in ("udrl", *BASELINES) if fits.get(name, True))
        raise UserError(
            f"{settings.algorithm} is for {wanted} actions and those of {name} are {kind}: take one of {others}."
        )
    how_to_act(settings, environments.actions.is_discrete)
    if settings.normalize_observations and observation_space(environments).dtype == "uint8":
        raise UserError("Images are scaled already: leave normalize_observations out.")


def choose_device(options: RunOptions, environments: Environments) -> str:
    """What the network is trained on: a GPU for images where there is one, or as asked."""
    has_gpu, is_image = torch.cuda.is_available(), observation_space(environments).dtype == "uint8"
    if options.device == "gpu" and not has_gpu:
        raise UserError("PyTorch finds no GPU: leave --device out.")
    return "cuda" if options.device == "gpu" or (options.device == "auto" and has_gpu and is_image) else "cpu"
