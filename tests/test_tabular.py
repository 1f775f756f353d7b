"""The tabular behavior function: the paper's Table 1, and the case its text adds."""

from udrl.behavior import TabularBehavior

UNIQUE_TRAJECTORIES = [
    [("s0", "a1", 2.0), ("s1", "a3", -1.0)],
    [("s0", "a2", 1.0)],
    [("s1", "a3", -1.0)],
]


def test_the_papers_table_and_nothing_else():
    behavior = TabularBehavior(UNIQUE_TRAJECTORIES)
    table = {command: behavior.probabilities(*command) for command in behavior.commands()}
    assert table == {
        ("s0", 2.0, 1): {"a1": 1.0},
        ("s0", 1.0, 1): {"a2": 1.0},
        ("s0", 1.0, 2): {"a1": 1.0},
        ("s1", -1.0, 1): {"a3": 1.0},
    }


def test_two_actions_that_fit_the_same_command_share_the_probability():
    trajectories = [[("s0", "a1", 2.0), ("s1", "a3", -1.0)], [("s0", "a2", 2.0)], [("s1", "a3", -1.0)]]
    behavior = TabularBehavior(trajectories)
    assert behavior.probabilities("s0", 2.0, 1) == {"a1": 0.5, "a2": 0.5}
    assert behavior.probabilities("s0", 1.0, 2) == {"a1": 1.0}


def test_segments_are_counted_as_often_as_they_occur():
    behavior = TabularBehavior([[("s", "a", 1.0)], [("s", "a", 1.0)], [("s", "b", 1.0)], [("s", "b", 0.0)]])
    assert behavior("a", "s", 1.0, 1) == 2 / 3
    assert behavior("b", "s", 1.0, 1) == 1 / 3
    assert behavior("b", "s", 0.0, 1) == 1.0


def test_inner_segments_count_too():
    behavior = TabularBehavior([[(0, "a", 1.0), (1, "b", 2.0), (2, "c", 4.0)]])
    assert sorted(behavior.commands()) == [(0, 1, 1), (0, 3, 2), (0, 7, 3), (1, 2, 1), (1, 6, 2), (2, 4, 1)]


def test_a_command_never_seen_has_no_answer():
    behavior = TabularBehavior(UNIQUE_TRAJECTORIES)
    assert behavior.probabilities("s0", 5.0, 1) == {}
    assert behavior("a1", "s0", 5.0, 1) == 0.0
    assert len(behavior.commands()) == 4
