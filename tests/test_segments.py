"""Training examples in hindsight: which segments are drawn, how often, and what they command."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import make_episode
from scipy import stats

from udrl import segments
from udrl.config import Config
from udrl.episode import Episode
from udrl.replay import Replay
from udrl.segments import Examples, sample_examples

LENGTHS = (1, 2, 5)


def powers_of_two(label: int, length: int) -> list[float]:
    return [2.0 ** (8 * label + t) for t in range(length)]


def replay_of(lengths: tuple[int, ...] = LENGTHS) -> Replay:
    replay = Replay(10)
    replay.add([make_episode(powers_of_two(label, n), label) for label, n in enumerate(lengths)])
    return replay


def draw(replay: Replay, n_updates: int, batch_size: int, seed: int, **settings: Any) -> Examples:
    config = Config(n_updates_per_iter=n_updates, batch_size=batch_size, **settings)
    (examples,) = sample_examples(replay, config, np.random.default_rng(seed))
    return examples


def rows(examples: Examples) -> list[tuple[int, int, float, int, int]]:
    """(episode, t1, return, horizon, action) of every example."""
    observations = examples.observations.reshape(-1, 2)
    commands, actions = examples.commands.reshape(-1, 2), examples.actions.reshape(-1)
    return [
        (int(label), int(t), float(d_r), int(d_h), int(action))
        for (label, t), (d_r, d_h), action in zip(observations, commands, actions, strict=True)
    ]


def test_shapes_are_updates_by_batch():
    examples = draw(replay_of(), 3, 4, 0)
    assert examples.observations.shape == (3, 4, 2)
    assert examples.commands.shape == (3, 4, 2)
    assert examples.actions.shape == (3, 4, 1)
    assert examples.commands.dtype == np.float32


def test_trailing_segments_reach_from_every_step_to_the_end():
    drawn = rows(draw(replay_of(), 10, 100, 0))
    expected = {
        (label, t, sum(powers_of_two(label, n)[t:]), n - t, label + t)
        for label, n in enumerate(LENGTHS)
        for t in range(n)
    }
    assert set(drawn) == expected


def test_drawing_is_uniform_over_episodes_and_then_over_steps():
    drawn = rows(draw(replay_of(), 60, 500, 1))
    counts = Counter((label, t) for label, t, *_ in drawn)
    steps = [(label, t) for label, n in enumerate(LENGTHS) for t in range(n)]
    expected = [len(drawn) / 3 / LENGTHS[label] for label, _ in steps]
    assert stats.chisquare([counts[step] for step in steps], expected).pvalue > 1e-3


def test_any_segment_is_drawn_with_its_exact_sum():
    drawn = rows(draw(replay_of(), 10, 300, 2, segments="any"))
    expected = {
        (label, t1, sum(powers_of_two(label, n)[t1:t2]), t2 - t1, label + t1)
        for label, n in enumerate(LENGTHS)
        for t1 in range(n)
        for t2 in range(t1 + 1, n + 1)
    }
    assert set(drawn) == expected


def test_ends_of_any_segments_are_uniform_over_those_after_the_start():
    drawn = rows(draw(replay_of((4,)), 20, 1000, 3, segments="any"))
    counts = Counter((t1, horizon) for _, t1, _, horizon, _ in drawn)
    segments = [(t1, h) for t1 in range(4) for h in range(1, 5 - t1)]
    expected = [len(drawn) / 4 / (4 - t1) for t1, _ in segments]
    assert stats.chisquare([counts[segment] for segment in segments], expected).pvalue > 1e-3


def test_the_texts_segments_end_one_step_before_and_leave_out_the_last_step():
    drawn = rows(draw(replay_of(), 10, 100, 4, text_segments=True))
    of_longest = {row for row in drawn if row[0] == 2}
    rewards = powers_of_two(2, 5)
    assert of_longest == {(2, t, sum(rewards[t:]), 4 - t, 2 + t) for t in range(4)}


def test_the_texts_segment_of_a_single_step_still_has_a_horizon():
    drawn = rows(draw(replay_of((1,)), 2, 5, 5, text_segments=True))
    assert set(drawn) == {(0, 0, 1.0, 1, 0)}


def test_the_same_generator_draws_the_same_examples():
    one, other = (draw(replay_of(), 2, 7, 6, segments="any") for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_newest_observations_are_stacked_and_the_first_stands_for_those_before_it():
    drawn = draw(replay_of((2, 5)), 10, 50, 7, frame_stack=3)
    assert drawn.observations.shape == (10, 50, 3, 2)
    for stack in drawn.observations.reshape(-1, 3, 2):
        label, t = stack[-1]
        assert stack.tolist() == [[label, max(t - 2, 0)], [label, max(t - 1, 0)], [label, t]]


def test_a_phase_comes_in_parts_where_its_observations_would_not_fit(monkeypatch: pytest.MonkeyPatch):
    replay = Replay(3)
    rng = np.random.default_rng(0)
    for label in range(3):
        images = rng.integers(0, 256, (20, 6, 6)).astype(np.uint8)
        replay.add([Episode(images, np.arange(20, dtype=np.int32)[:, None], np.full(20, float(label)))])
    config = Config(n_updates_per_iter=12, batch_size=5, frame_stack=2)
    (whole,) = sample_examples(replay, config, np.random.default_rng(1))
    monkeypatch.setattr(segments, "MOST_BYTES", 5 * 36 * 5 * 2)  # five updates; the parts are of four
    parts = list(sample_examples(replay, config, np.random.default_rng(1)))
    assert [len(part.actions) for part in parts] == [4, 4, 4]
    for field, fields in zip(whole, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(field, np.concatenate(fields))


@pytest.mark.parametrize(
    ("target_actions", "learned"), [("executed", [-1.0, 0.5, 1.0]), ("sampled", [-1.2, 0.5, 28.0])]
)
def test_continuous_actions_are_learned_as_they_were_executed_or_sampled(
    target_actions: str, learned: list[float]
) -> None:
    replay = Replay(1)
    actions = np.array([[-1.2], [0.5], [28.0]], np.float32)
    replay.add([Episode(np.zeros((3, 1), np.float32), actions, np.ones(3), True)])
    examples = draw(replay, 1, 100, seed=0, target_actions=target_actions)
    assert set(examples.actions.ravel()) == set(np.array(learned, np.float32))
    np.testing.assert_array_equal(replay[0].actions, actions)
