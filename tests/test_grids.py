"""The grids as data against the sizes that follow from the paper's lists."""

import numpy as np
import pytest

from udrl.errors import UserError
from udrl.experiments.definition import Run, resolve
from udrl.experiments.grids import GRIDS, Grid, find_grid

# Network architectures × the lengths of the lists in the order of the paper's appendix.
SIZES = {
    ("lunarlander", "dqn"): 10 * (2 * 4 * 5 * 4 * 3 * 4 * 101 * 3 * 3),
    ("lunarlander", "a2c"): 10 * (2 * 4 * 5 * 101 * 4 * 3 * 5),
    ("lunarlander", "udrl"): 10 * (5 * 2 * 5 * 4 * 101 * 4 * 5 * 3 * 5 * 5),
    ("takecover", "dqn"): 3 * 6 * (2 * 4 * 5 * 4 * 3 * 4 * 101 * 3 * 3),
    ("takecover", "a2c"): 3 * 6 * (2 * 4 * 5 * 101 * 4 * 3 * 5),
    # Bilinear only, and one scale for return and horizon.
    ("takecover", "udrl"): 3 * 6 * (5 * 4 * 101 * 4 * 4 * 3 * 4 * 5),
    # Without the three entropy coefficients.
    ("swimmer", "trpo"): 5 * (2 * 4 * 4 * 3 * 3 * 3 * 3),
    ("swimmer", "ppo"): 5 * (2 * 4 * 101 * 3 * 3 * 3 * 3 * 3 * 3 * 3),
    ("swimmer", "ddpg"): 5 * (2 * 4 * 3 * 2 * 3 * 2 * 2 * 101 * 101 * 3 * 2 * 2),
    ("swimmer", "udrl"): 5 * (3 * 2 * 5 * 4 * 6 * 3 * 4 * 3 * 5 * 5),
}


@pytest.mark.parametrize(("task", "algorithm"), SIZES)
def test_a_grid_has_as_many_combinations_as_the_papers(task: str, algorithm: str) -> None:
    assert find_grid(task, algorithm).size == SIZES[task, algorithm]


def test_trials_and_seeds_are_the_papers() -> None:
    counts = {task: {(grid.trials, grid.seeds) for grid in grids.values()} for task, grids in GRIDS.items()}
    assert counts == {
        "lunarlander": {(256, 3)},
        "lunarlander-sparse": {(256, 3)},
        "takecover": {(72, 2)},
        "swimmer": {(144, 2)},
        "swimmer-sparse": {(144, 2)},
        "inverted-double-pendulum": {(144, 2)},
        "inverted-double-pendulum-sparse": {(144, 2)},
    }


TUNED = [("lunarlander", "udrl"), ("lunarlander-sparse", "udrl"), ("takecover", "udrl"),
         ("swimmer", "udrl"), ("inverted-double-pendulum", "udrl")]  # fmt: skip


@pytest.mark.parametrize(("task", "algorithm"), TUNED)
def test_the_papers_tuned_values_are_among_the_choices(task: str, algorithm: str) -> None:
    grid = find_grid(task, algorithm)
    tuned = resolve(Run(task, algorithm, None, 1, {})).identity
    for name, choices in grid.values.items():
        if isinstance(tuned[name], float):
            assert np.isclose(tuned[name], choices, rtol=1e-6, atol=0).any()
        else:
            assert tuned[name] in choices


@pytest.mark.parametrize(("task", "algorithm"), [(task, algorithm) for task in GRIDS for algorithm in GRIDS[task]])
def test_every_value_is_one_that_the_algorithm_takes(task: str, algorithm: str) -> None:
    grid = find_grid(task, algorithm)
    for name, choices in grid.values.items():
        for i in {0, len(choices) - 1}:
            settings = grid.settings(dict.fromkeys(grid.values, 0) | {name: i})
            identity = resolve(Run(task, algorithm, None, 1, settings)).identity
            assert {key: identity[key] for key in settings} == settings


def test_takecovers_scales_are_one() -> None:
    grid = find_grid("takecover", "udrl")
    for indices in grid.sample(20, seed=1):
        settings = grid.settings(indices)
        assert settings["horizon_scale"] == settings["return_scale"]
        assert settings["fast_net_option"] == "bilinear"


def test_samples_differ_and_a_longer_search_begins_like_a_shorter_one() -> None:
    grid = Grid({"last_few": (1, 2, 3), "batch_size": (8, 16)}, trials=1, seeds=1)
    assert grid.sample(100, seed=3)[:4] == grid.sample(4, seed=3)
    assert len({tuple(indices.values()) for indices in grid.sample(100, seed=3)}) == 6


def test_samples_are_spread_evenly() -> None:
    grid = find_grid("lunarlander", "udrl")
    counts = np.bincount([indices["hidden_sizes"] for indices in grid.sample(2000, seed=0)], minlength=10)
    assert counts.min() > 150
    assert counts.max() < 250


def test_what_has_no_grid_says_what_has() -> None:
    with pytest.raises(UserError, match=r"no grid for ppo on lunarlander: give one by --grid"):
        find_grid("lunarlander", "ppo")
