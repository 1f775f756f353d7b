"""Statistics of several seeds: means and interquartile means with bootstrap intervals, and steps needed to solve."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import bootstrap, trim_mean

from udrl.experiments.results import Run

N_RESAMPLES = 1000
CONFIDENCE = 0.95
CONSECUTIVE = 5
"""Evaluations whose mean has to reach the threshold, besides a single one."""

Statistic = Callable[..., np.ndarray]


def mean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    return np.mean(values, axis=axis)


def interquartile_mean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """The mean of the middle half: a quarter of the seeds (cut to an integer) is left out at each end."""
    return np.asarray(trim_mean(values, 0.25, axis=axis))


def interval(values: np.ndarray, statistic: Statistic = mean) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % bootstrap interval of a statistic over seeds, values [n, ...] -> low and high [...].

    Whole runs are drawn, so that an interval along a curve is one of curves. One seed has none: NaN.
    """
    if len(values) < 2:
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    if values.size == 0:
        return values[0], values[0]
    found = bootstrap(
        (values,),
        statistic,
        n_resamples=N_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        axis=0,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return np.asarray(found.low), np.asarray(found.high)


@dataclasses.dataclass(frozen=True)
class Curve:
    """A group of seeds along training; NaN where not every seed has been evaluated, but for `mean`."""

    at: np.ndarray  # [T]
    n: np.ndarray  # [T] seeds that have been evaluated there
    n_seeds: int
    mean: np.ndarray  # [T] of the seeds that are there
    mean_low: np.ndarray  # [T]
    mean_high: np.ndarray  # [T]
    iqm: np.ndarray  # [T]
    iqm_low: np.ndarray  # [T]
    iqm_high: np.ndarray  # [T]

    @property
    def is_whole(self) -> np.ndarray:  # [T] bool
        """Where every seed has been evaluated."""
        return self.n == self.n_seeds


def align(runs: Sequence[Run]) -> tuple[np.ndarray, np.ndarray]:
    """Every multiple at which some run was evaluated [T], and what each run obtained there, or NaN [n, T]."""
    at = np.array(sorted({one.eval_at for run in runs for one in run.evaluations}), np.int64)
    returns = np.full((len(runs), len(at)), np.nan)
    for i, run in enumerate(runs):
        places = np.searchsorted(at, [one.eval_at for one in run.evaluations])
        returns[i, places] = run.returns
    return at, returns


def curve_of(runs: Sequence[Run]) -> Curve:
    """The mean and interquartile mean of runs, all of which have been evaluated, with their intervals."""
    at, returns = align(runs)
    n = np.isfinite(returns).sum(0)
    whole = n == len(runs)
    columns: dict[str, np.ndarray] = {}
    for name, statistic in (("mean", mean), ("iqm", interquartile_mean)):
        low, high = interval(returns[:, whole], statistic)
        for column, values in ((name, statistic(returns[:, whole])), (f"{name}_low", low), (f"{name}_high", high)):
            columns[column] = np.full(len(at), np.nan)
            columns[column][whole] = values
    columns["mean"] = np.nansum(returns, 0) / n
    return Curve(at, n, len(runs), **columns)


@dataclasses.dataclass(frozen=True)
class Final:
    """What the last k evaluations of each seed obtained, over seeds."""

    k: int
    values: np.ndarray  # [n]
    mean: float
    low: float
    high: float
    iqm: float
    iqm_low: float
    iqm_high: float


def final_performance(runs: Sequence[Run], k: int) -> Final:
    """The mean of the last k evaluations (all of them, where there are fewer) of runs that have been evaluated."""
    values = np.array([run.returns[-k:].mean() for run in runs])
    low, high = map(float, interval(values))
    iqm_low, iqm_high = map(float, interval(values, interquartile_mean))
    return Final(k, values, float(values.mean()), low, high, float(interquartile_mean(values)), iqm_low, iqm_high)


def steps_to_solve(run: Run, threshold: float, consecutive: int = 1) -> float:
    """env_steps of the first evaluation that ends `consecutive` ones with a mean at or above the threshold, or inf."""
    returns = run.returns
    for i in range(consecutive - 1, len(returns)):
        if returns[i - consecutive + 1 : i + 1].mean() >= threshold:
            return float(run.evaluations[i].env_steps)
    return np.inf


def median_steps(steps: Sequence[float]) -> float:
    """The median over all seeds, infinite where half of them or more have not solved the task."""
    ordered, half = sorted(steps), len(steps) // 2
    return ordered[half] if len(steps) % 2 else (ordered[half - 1] + ordered[half]) / 2
