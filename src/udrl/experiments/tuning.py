"""The part of a search that speaks Ray Tune's language: what to try next, whom to stop early, what came of it."""

import dataclasses
import math
import os
import tempfile
import time
import warnings
from typing import TYPE_CHECKING, Any

from udrl.errors import Interrupted, TrainingError
from udrl.experiments.definition import Run
from udrl.experiments.remote import Root
from udrl.experiments.runner import connected, make_board, prepared, read_board
from udrl.experiments.search import Record, Search, Watcher, check, read_records, try_values
from udrl.experiments.table import ExperimentTable, RunState

if TYPE_CHECKING:
    from ray.tune import Callback, Stopper

STOP_SECONDS = 30.0
"""How long running runs have for their last checkpoint."""
LOOK_SECONDS = 0.5
GRACE = 0.1
"""The part of the budget that every trial gets, whatever early stopping thinks of it."""


def run_search(search: Search, address: str | None = None, shared: bool = False, quiet: bool = False) -> list[Record]:
    """Try what has not been tried yet; the best values so far are in best.toml at any time."""
    check(search)
    search = dataclasses.replace(search, folder=search.folder.absolute())
    states = [
        RunState(Run(search.task, search.algorithm, f"{trial}", seed, {}), search.env_steps)
        for trial in range(min(search.trials, search.grid.size))
        for seed in range(search.seeds)
    ]
    table = ExperimentTable(f"{search.task} {search.algorithm}", states, quiet, by_group=False)
    watcher = Watcher(search, read_records(search), states, table)
    if watcher.n_missing > 0:
        with prepared(search.folder, shared) as root, table, connected(address):
            tune_trials(search, root, watcher)
    if watcher.n_failed:
        raise TrainingError(f"{watcher.n_failed} trials failed; the same command tries them again.")
    return watcher.scored


def tune_trials(search: Search, root: Root, watcher: Watcher) -> None:
    """Hand the missing trials to Tune, and see them to their end."""
    # Tune would write files of its own for every trial, and catch Ctrl-C.
    names = "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "TUNE_DISABLE_SIGINT_HANDLER"
    os.environ |= dict.fromkeys(names, "1") | {"RAY_AIR_NEW_OUTPUT": "0"}
    import ray
    from ray import tune

    from udrl.run import stop_signals

    board = make_board()
    # The processes of trials wait, mostly: they live on the head node, and take no core from the runs.
    waiting = tune.PlacementGroupFactory([{"node:__internal_head__": 0.001}])
    trial: Any = tune.with_parameters(try_values, search=search, root=root, board=board)
    n_cores = sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
    with tempfile.TemporaryDirectory(prefix="udrl-tune-") as storage, stop_signals() as stopped:
        tune.Tuner(
            tune.with_resources(trial, waiting),
            tune_config=tune.TuneConfig(
                metric="score",
                mode="max",
                scheduler=_early_stopping(search),
                # One more than fit: its runs are ready when the last ones of another end.
                max_concurrent_trials=math.ceil(n_cores // search.cores / search.seeds) + 1,
                **_what_to_try(search, watcher),
            ),
            run_config=tune.RunConfig(
                name="search",
                storage_path=storage,
                verbose=0,
                callbacks=[_make_callback(watcher, board, stopped)],
                stop=_make_stopper(board, stopped),
            ),
            param_space=_choices(search, watcher),
        ).fit()
        if stopped.number is not None:
            raise Interrupted(stopped.number, "Stopped; the same command continues from there.")


def _choices(search: Search, watcher: Watcher) -> dict[str, Any]:
    """Random combinations are drawn here, so that the same command draws the same ones."""
    from ray import tune

    if search.sampler != "random":
        return {}
    drawn = search.grid.sample(search.trials, search.seed)
    scored = [record.indices for record in watcher.scored]
    return {"indices": tune.grid_search([indices for indices in drawn if indices not in scored][: watcher.n_missing])}


def _what_to_try(search: Search, watcher: Watcher) -> dict[str, Any]:
    """Optuna's sampler, told what earlier calls found out; first it finishes what they left."""
    if search.sampler == "random":
        return {}
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
    from ray.tune.search.optuna import OptunaSearch

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler, "qmc": optuna.samplers.QMCSampler}
    space: dict[str, BaseDistribution] = {}
    for name, choices in search.grid.values.items():
        # Places in the list: numbers in a row are near each other, other choices are not.
        is_row = all(type(choice) in (int, float) for choice in choices) and list(choices) == sorted(choices)
        places = range(len(choices))
        space[name] = IntDistribution(0, len(choices) - 1) if is_row else CategoricalDistribution(places)
    unfinished = [record.indices for record in watcher.records.values() if record.score is None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = kinds[search.sampler](seed=search.seed + len(watcher.scored))
    searcher = OptunaSearch(space, "score", "max", unfinished[: watcher.n_missing], sampler)
    for record in watcher.scored:
        assert record.score is not None
        searcher.add_evaluated_point(record.indices, record.score)
    return {"search_alg": searcher, "num_samples": watcher.n_missing}


def _early_stopping(search: Search) -> Any:
    from ray.tune.schedulers import ASHAScheduler, MedianStoppingRule

    grace = max(int(GRACE * search.env_steps), 1)
    if search.early_stopping == "asha":
        # The end of a run is no reason to stop it: twice the budget is never reached.
        return ASHAScheduler("env_steps", max_t=2 * search.env_steps, grace_period=grace, reduction_factor=3)
    if search.early_stopping == "median":
        return MedianStoppingRule("env_steps", grace_period=grace)
    return None


def _make_callback(watcher: Watcher, board: Any, stopped: Any) -> "Callback":
    from ray import tune

    class Watching(tune.Callback):
        looked_at = 0.0

        def __reduce__(self) -> Any:  # Tune writes down what it was given; our state is in files of our own
            return tune.Callback, ()

        def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
            if time.monotonic() - self.looked_at >= LOOK_SECONDS:
                self.looked_at = time.monotonic()
                watcher.look(read_board(board))

        def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            watcher.begins(_indices(trial))

        def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            result = trial.last_result or {}
            if result.get("complete") or ("score" in result and stopped.number is None):
                watcher.ends(_indices(trial), result)

        def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            if stopped.number is None:
                watcher.fails(_indices(trial))

    return Watching()


def _make_stopper(board: Any, stopped: Any) -> "Stopper":
    import ray
    from ray import tune
    from ray.tune.stopper import NoopStopper

    class Stopping(tune.Stopper):
        began: float | None = None

        def __reduce__(self) -> Any:
            return NoopStopper, ()

        def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
            return False

        def stop_all(self) -> bool:
            """A signal first lets the runs save what they have."""
            if stopped.number is None:
                return False
            if self.began is None:
                self.began = time.monotonic()
                ray.get(board.stop.remote())
            return ray.get(board.n_running.remote()) == 0 or time.monotonic() - self.began > STOP_SECONDS

    return Stopping()


def _indices(trial: Any) -> dict[str, int]:
    config: dict[str, Any] = trial.config
    return config.get("indices", config)
