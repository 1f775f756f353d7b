"""Training examples in hindsight: which segments are drawn, how often, and what they command."""

from collections import Counter

import numpy as np
from conftest import make_episode
from scipy import stats

from udrl.replay import Replay
from udrl.segments import Examples, sample_examples

LENGTHS = (1, 2, 5)


def powers_of_two(label: int, length: int) -> list[float]:
    return [2.0 ** (8 * label + t) for t in range(length)]


def replay_of(lengths: tuple[int, ...] = LENGTHS) -> Replay:
    replay = Replay(10)
    replay.add([make_episode(powers_of_two(label, n), label) for label, n in enumerate(lengths)])
    return replay


def rows(examples: Examples) -> list[tuple[int, int, float, int, int]]:
    """(episode, t1, return, horizon, action) of every example."""
    observations = examples.observations.reshape(-1, 2)
    commands, actions = examples.commands.reshape(-1, 2), examples.actions.reshape(-1)
    return [
        (int(label), int(t), float(d_r), int(d_h), int(action))
        for (label, t), (d_r, d_h), action in zip(observations, commands, actions, strict=True)
    ]


def test_shapes_are_updates_by_batch():
    examples = sample_examples(replay_of(), 3, 4, np.random.default_rng(0))
    assert examples.observations.shape == (3, 4, 2)
    assert examples.commands.shape == (3, 4, 2)
    assert examples.actions.shape == (3, 4, 1)
    assert examples.commands.dtype == np.float32


def test_trailing_segments_reach_from_every_step_to_the_end():
    drawn = rows(sample_examples(replay_of(), 10, 100, np.random.default_rng(0)))
    expected = {
        (label, t, sum(powers_of_two(label, n)[t:]), n - t, label + t)
        for label, n in enumerate(LENGTHS)
        for t in range(n)
    }
    assert set(drawn) == expected


def test_drawing_is_uniform_over_episodes_and_then_over_steps():
    drawn = rows(sample_examples(replay_of(), 60, 500, np.random.default_rng(1)))
    counts = Counter((label, t) for label, t, *_ in drawn)
    steps = [(label, t) for label, n in enumerate(LENGTHS) for t in range(n)]
    expected = [len(drawn) / 3 / LENGTHS[label] for label, _ in steps]
    assert stats.chisquare([counts[step] for step in steps], expected).pvalue > 1e-3


def test_any_segment_is_drawn_with_its_exact_sum():
    drawn = rows(sample_examples(replay_of(), 10, 300, np.random.default_rng(2), "any"))
    expected = {
        (label, t1, sum(powers_of_two(label, n)[t1:t2]), t2 - t1, label + t1)
        for label, n in enumerate(LENGTHS)
        for t1 in range(n)
        for t2 in range(t1 + 1, n + 1)
    }
    assert set(drawn) == expected


def test_ends_of_any_segments_are_uniform_over_those_after_the_start():
    drawn = rows(sample_examples(replay_of((4,)), 20, 1000, np.random.default_rng(3), "any"))
    counts = Counter((t1, horizon) for _, t1, _, horizon, _ in drawn)
    segments = [(t1, h) for t1 in range(4) for h in range(1, 5 - t1)]
    expected = [len(drawn) / 4 / (4 - t1) for t1, _ in segments]
    assert stats.chisquare([counts[segment] for segment in segments], expected).pvalue > 1e-3


def test_the_texts_segments_end_one_step_before_and_leave_out_the_last_step():
    drawn = rows(sample_examples(replay_of(), 10, 100, np.random.default_rng(4), text_segments=True))
    of_longest = {row for row in drawn if row[0] == 2}
    rewards = powers_of_two(2, 5)
    assert of_longest == {(2, t, sum(rewards[t:]), 4 - t, 2 + t) for t in range(4)}


def test_the_texts_segment_of_a_single_step_still_has_a_horizon():
    drawn = rows(sample_examples(replay_of((1,)), 2, 5, np.random.default_rng(5), text_segments=True))
    assert set(drawn) == {(0, 0, 1.0, 1, 0)}


def test_the_same_generator_draws_the_same_examples():
    one, other = (sample_examples(replay_of(), 2, 7, np.random.default_rng(6), "any") for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
