"""Evaluation: its episodes, its seeds, and its numbers by hand."""

import numpy as np
import pytest
from conftest import make_episode

from udrl.command import Command
from udrl.config import Config
from udrl.episode import Episode
from udrl.evaluation import Evaluation, evaluate, evaluation_batch, how_to_evaluate
from udrl.randomness import Purpose
from udrl.rollout import Batch, Parameters


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


class Recorder:
    """Collects in plain sight: keeps the batches, and gives episodes of one reward, the number of the episode."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def collect(self, parameters: Parameters, batch: Batch) -> list[Episode]:
        self.batches.append(batch)
        return [make_episode([float(i)] * (1 + i % 2)) for i in batch.episodes]

    def close(self) -> None: ...


def test_the_batch_is_the_papers():
    batch = evaluation_batch(Command(9.0, 4.0), Config(n_evaluation_episodes=30), True, seed=3, iteration=7)
    np.testing.assert_array_equal(batch.command.as_array(30), [[9.0, 4.0]] * 30)
    assert (batch.how, batch.environment_seeds, batch.is_bounded) == ("sample", "final", True)
    assert (batch.seed, batch.iteration, batch.purpose, batch.episodes) == (3, 7, Purpose.EVALUATION, range(30))
    tuning = evaluation_batch(Command(9.0, 4.0), Config(evaluation_seeds="tuning"), False, 3, 7, n=5)
    assert (tuning.how, tuning.environment_seeds, len(tuning.episodes)) == ("mode", "tuning", 5)


def test_many_episodes_are_collected_in_parts_and_none_is_lost():
    recorder = Recorder()
    evaluation = evaluate(recorder, [], evaluation_batch(Command(9.0, 4.0), Config(), True, 1, 0, n=230))
    assert [len(batch.episodes) for batch in recorder.batches] == [100, 100, 30]
    np.testing.assert_array_equal(evaluation.returns, [i * (1 + i % 2) for i in range(230)])
    np.testing.assert_array_equal(evaluation.lengths, [1 + i % 2 for i in range(230)])
    assert evaluation.command == Command(9.0, 4.0)


def test_discrete_actions_are_sampled_and_of_continuous_ones_the_mode_is_taken():
    assert how_to_evaluate("auto", is_discrete=True) == "sample"
    assert how_to_evaluate("auto", is_discrete=False) == "mode"


@pytest.mark.parametrize("is_discrete", [True, False])
def test_what_is_asked_for_explicitly_is_done(is_discrete: bool):
    assert how_to_evaluate("sample", is_discrete) == "sample"
    assert how_to_evaluate("mode", is_discrete) == "mode"
