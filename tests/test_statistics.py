"""Statistics over seeds, against values derived by hand."""

import numpy as np
import pytest

from udrl.experiments.results import Evaluation, Run
from udrl.experiments.statistics import (
    align,
    curve_of,
    final_performance,
    interquartile_mean,
    interval,
    median_steps,
    steps_to_solve,
)


def run_of(returns: list[float], at: list[int] | None = None, seed: int = 1) -> Run:
    """Evaluations at 10, 20, ..., or at those multiples, each one step later."""
    at = at or [10 * (i + 1) for i in range(len(returns))]
    nan = float("nan")
    evaluations = [Evaluation(a + 1, a, value, nan, nan, nan, nan) for a, value in zip(at, returns, strict=True)]
    return Run("lunarlander", "udrl", "", seed, tuple(evaluations))


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end() -> None:
    assert interquartile_mean(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == pytest.approx((2 + 3 + 4 + 5) / 4)
    # A quarter of five seeds is cut to one; of three to none.
    assert interquartile_mean(np.array([0.0, 1, 2, 3, 100])) == pytest.approx(2)
    assert interquartile_mean(np.array([0.0, 1, 5])) == pytest.approx(2)


def test_the_interval_of_two_seeds_reaches_from_one_to_the_other() -> None:
    # A sample of two is both the low one, both the high one (a quarter each), or one of each.
    low, high = interval(np.array([[0.0, 10.0], [4.0, 10.0]]))
    assert low.tolist() == [0, 10]
    assert high.tolist() == [4, 10]


def test_the_interval_of_a_normal_mean_has_the_width_that_theory_gives() -> None:
    values = np.random.default_rng(1).normal(50.0, 10.0, 400)
    low, high = interval(values)
    half = 1.96 * values.std() / np.sqrt(400)
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_the_interval_is_the_same_each_time_and_one_seed_has_none() -> None:
    values = np.random.default_rng(2).normal(size=(5, 3))
    first, again = interval(values), interval(values)
    assert [end.tolist() for end in first] == [end.tolist() for end in again]
    assert all(np.isnan(end).all() for end in interval(values[:1]))


def test_seeds_line_up_on_the_multiples_of_the_interval() -> None:
    at, returns = align([run_of([1, 2, 3]), run_of([5, 7], at=[10, 30])])
    assert at.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(returns, [[1, 2, 3], [5, np.nan, 7]])


def test_beyond_the_shortest_seed_there_is_a_mean_of_the_others_but_no_interval() -> None:
    curve = curve_of([run_of([1, 2, 3]), run_of([5, 4], seed=2)])
    assert curve.n.tolist() == [2, 2, 1]
    assert curve.is_whole.tolist() == [True, True, False]
    assert curve.mean.tolist() == [3, 3, 3]
    assert np.isfinite(curve.mean_low).tolist() == [True, True, False]
    assert np.isfinite(curve.iqm).tolist() == [True, True, False]


def test_seeds_that_share_no_evaluation_have_no_interval_anywhere() -> None:
    curve = curve_of([run_of([1], at=[10]), run_of([2], at=[20])])
    assert curve.mean.tolist() == [1, 2]
    assert np.isnan(curve.mean_low).all()


def test_final_performance_is_of_the_last_evaluations_of_each_seed() -> None:
    final = final_performance([run_of([0, 0, 4, 6]), run_of([9, 1])], k=2)
    assert final.values.tolist() == [5, 5]
    assert (final.mean, final.low, final.high, final.iqm) == (5, 5, 5, 5)
    assert final_performance([run_of([0, 0, 4, 6]), run_of([9, 1])], k=20).values.tolist() == [2.5, 5]


@pytest.mark.parametrize(
    ("returns", "consecutive", "steps"),
    [
        ([0, 100, 200, 0], 1, 31),  # the third evaluation, one step past 30
        ([0, 199.9], 1, np.inf),
        ([200] * 5, 5, 51),
        ([0, 0, 400, 200, 200, 200, 200], 5, 61),  # 160, 200: the second five
        ([200] * 4, 5, np.inf),
        ([], 1, np.inf),
    ],
)
def test_steps_needed_to_solve(returns: list[float], consecutive: int, steps: float) -> None:
    assert steps_to_solve(run_of(returns), 200, consecutive) == steps


def test_the_median_counts_seeds_that_did_not_solve_the_task() -> None:
    assert median_steps([30, np.inf, 10]) == 30
    assert median_steps([30, np.inf, np.inf]) == np.inf
    assert median_steps([10, 30]) == 20
    assert median_steps([10, np.inf]) == np.inf
