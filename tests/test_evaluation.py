"""Evaluation: its episodes, its seeds, and its numbers by hand."""

from typing import Any

import numpy as np
import pytest
from conftest import Countdown

from udrl.actions import Categorical
from udrl.command import Command
from udrl.environments import Environments
from udrl.evaluation import Evaluation, evaluate, how_to_evaluate
from udrl.randomness import Purpose
from udrl.rollout import episode_generators


def test_the_summary_by_hand():
    summary = Evaluation(Command(5.0, 7.0), np.array([1.0, 3.0, 8.0]), np.array([2, 4, 6])).summary()
    assert summary == {
        "desired_return": 5.0,
        "desired_horizon": 7.0,
        "return_mean": 4.0,
        "return_std": pytest.approx(np.sqrt(26 / 3)),
        "return_min": 1.0,
        "return_max": 8.0,
        "length_mean": 4.0,
        "episodes": 3,
    }


@pytest.mark.parametrize(("seeds", "low", "high"), [("final", 1, 500_000), ("tuning", 500_000, 1_000_000)])
def test_one_episode_per_generator_obeys_the_command_from_a_seed_in_the_range(seeds: Any, low: int, high: int):
    first_seen: list[np.ndarray] = []
    first_asked: list[np.ndarray] = []

    def act(observations: np.ndarray, commands: np.ndarray, noise: np.ndarray) -> np.ndarray:
        first_seen.append(observations[:, 0].copy())
        first_asked.append(commands.copy())
        return np.ones((len(observations), 1), np.int32)

    randomness = episode_generators(1, Purpose.EVALUATION, 0, 30)
    command = Command(9.0, 4.0)
    evaluation = evaluate(Environments(Countdown), act, Categorical((3,)), command, randomness, seeds)
    environment_seeds = first_seen[0].astype(int)
    assert len(set(environment_seeds)) > 25
    assert low <= environment_seeds.min() <= environment_seeds.max() < high
    lengths = 1 + environment_seeds % 5
    np.testing.assert_array_equal(evaluation.lengths, lengths)
    np.testing.assert_array_equal(evaluation.returns, [sum(10 * t + 1 for t in range(1, n + 1)) for n in lengths])
    np.testing.assert_array_equal(first_asked[0], [[9.0, 4.0]] * 30)
    assert evaluation.command == command


def test_discrete_actions_are_sampled_and_of_continuous_ones_the_mode_is_taken():
    assert how_to_evaluate("auto", is_discrete=True) == "sample"
    assert how_to_evaluate("auto", is_discrete=False) == "mode"


@pytest.mark.parametrize("is_discrete", [True, False])
def test_what_is_asked_for_explicitly_is_done(is_discrete: bool):
    assert how_to_evaluate("sample", is_discrete) == "sample"
    assert how_to_evaluate("mode", is_discrete) == "mode"
