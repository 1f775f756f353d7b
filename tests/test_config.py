"""Hyper-parameters: their names, their limits, and the paper's tuned values."""

import dataclasses
import math
from typing import Any

import pytest

from udrl.config import PAPER_TEXT, Config, RunOptions, replace
from udrl.errors import UserError
from udrl.tasks import TASKS, find_task

PAPER_TABLE = {
    "batch_size",
    "fast_net_option",
    "horizon_scale",
    "last_few",
    "learning_rate",
    "n_episodes_per_iter",
    "n_updates_per_iter",
    "n_warm_up_episodes",
    "replay_size",
    "return_scale",
}
TUNED: dict[str, dict[str, Any]] = {
    "lunarlander": {
        "hidden_sizes": (64, 128, 128),
        "batch_size": 768,
        "fast_net_option": "bilinear",
        "horizon_scale": 0.03,
        "last_few": 100,
        "learning_rate": 0.0008709635899560805,
        "n_episodes_per_iter": 20,
        "n_updates_per_iter": 150,
        "n_warm_up_episodes": 50,
        "replay_size": 600,
        "return_scale": 0.015,
        "sparse": False,
    },
    "lunarlander-sparse": {
        "hidden_sizes": (64, 128, 128, 128),
        "batch_size": 512,
        "fast_net_option": "gated",
        "horizon_scale": 0.015,
        "last_few": 25,
        "learning_rate": 0.000501187,
        "n_episodes_per_iter": 20,
        "n_updates_per_iter": 250,
        "n_warm_up_episodes": 30,
        "replay_size": 500,
        "return_scale": 0.015,
        "sparse": True,
    },
}
FIELDS = {field.name for field in dataclasses.fields(Config)}


def test_every_name_of_the_papers_table_is_a_field():
    assert PAPER_TABLE <= FIELDS


def test_the_papers_text_changes_fields_that_exist_and_differ():
    config = Config()
    assert set(PAPER_TEXT) <= FIELDS
    assert all(getattr(config, name) != value for name, value in PAPER_TEXT.items())
    assert all(getattr(replace(config, PAPER_TEXT), name) == value for name, value in PAPER_TEXT.items())


def test_defaults_are_the_notebooks_details():
    config = Config()
    assert config.bound_commands == "always"
    assert (config.fast_init_gain, config.output_init) == (1.0, "uniform")
    assert config.hidden_init_gain == pytest.approx(math.sqrt(2))
    assert config.integer_horizon
    assert not config.text_segments
    assert config.count_warm_up
    assert config.ties == "newest"
    assert config.activation == "relu"
    assert (config.evaluation_interval, config.n_evaluation_episodes) == (50_000, 100)


@pytest.mark.parametrize("name", TUNED)
def test_tasks_have_the_papers_tuned_values(name: str):
    config = dataclasses.asdict(find_task(name).config)
    assert {key: config[key] for key in TUNED[name]} == TUNED[name]
    assert config["env_id"] == "LunarLander-v3"
    # Only negative rewards drive the running command up: with all reward at the last step nothing needs a bound.
    assert (config["max_return"], config["max_episode_steps"]) == (None if config["sparse"] else 300.0, 1000)
    assert (TASKS[name].solved_return, TASKS[name].env_steps) == (200.0, 10_000_000)


def test_replace_changes_what_it_is_told_and_nothing_else():
    changed = replace(Config(), {"batch_size": 3})
    assert changed == dataclasses.replace(Config(), batch_size=3)


def test_a_typo_is_answered_with_the_nearest_name():
    with pytest.raises(UserError, match=r"'learning_rat'.*'learning_rate'"):
        replace(Config(), {"learning_rat": 0.1})


def test_an_unknown_task_is_answered_with_the_nearest_name():
    with pytest.raises(UserError, match=r"'lunarlandr'.*'lunarlander'"):
        find_task("lunarlandr")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("last_few", 0),
        ("n_episodes_per_iter", 0),
        ("n_updates_per_iter", -1),
        ("n_warm_up_episodes", 0),
        ("replay_size", 0),
        ("n_evaluation_episodes", 0),
        ("horizon_scale", 0.0),
        ("return_scale", math.nan),
        ("learning_rate", -1e-3),
        ("learning_rate", math.inf),
        ("fast_init_gain", 0.0),
        ("hidden_init_gain", math.nan),
        ("seed", -1),
        ("evaluation_interval", -1),
        ("max_episode_steps", 0),
        ("max_return", math.nan),
        ("max_return", math.inf),
        ("hidden_sizes", ()),
        ("hidden_sizes", (3, 0)),
        ("conv_channels", (0,)),
    ],
)
def test_values_out_of_range_are_refused_by_name(name: str, value: Any):
    with pytest.raises(UserError, match=name):
        replace(Config(), {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fast_net_option", "bilinaer"),
        ("activation", "gelu"),
        ("segments", "leading"),
        ("output_init", "zeros"),
        ("body", "cnn"),
        ("bound_commands", "never"),
        ("ties", "random"),
        ("evaluation_actions", "best"),
        ("evaluation_seeds", "training"),
    ],
)
def test_choices_that_do_not_exist_are_refused_by_name(name: str, value: str):
    with pytest.raises(UserError, match=name):
        replace(Config(), {name: value})


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_warm_up_deviation_that_is_none_is_refused(value: float):
    with pytest.raises(UserError, match="warm_up_std"):
        Config(warm_up_std=value)


def test_text_segments_are_trailing():
    with pytest.raises(UserError, match="text_segments"):
        Config(text_segments=True, segments="any")


@pytest.mark.parametrize("changes", [{"env_steps": 0}, {"threads": 0}, {"stop_when_solved": True}])
def test_run_options_that_make_no_sense_are_refused(changes: dict[str, Any]):
    with pytest.raises(UserError, match=next(iter(changes))):
        replace(RunOptions(), changes)
