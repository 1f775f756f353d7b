"""What a person sees while an agent trains, on a terminal and elsewhere."""

import io
import re
from functools import partial
from typing import Any, cast

import pytest
from rich.console import Console

import udrl.progress
from udrl.agent import Experience
from udrl.exploration import Aim
from udrl.progress import PLAIN_SECONDS, Progress
from udrl.replay import Replay
from udrl.training import Metrics, TrainingState

CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WIDTH = 40


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Progress:
    """Progress whose output is no terminal, but wide enough for any line."""
    monkeypatch.setattr(udrl.progress, "Console", partial(Console, force_terminal=False))
    return Progress("task", 100_000, solved_return=200.0)


def state_at(env_steps: int) -> TrainingState:
    nothing_learned = cast(Any, None)
    return TrainingState(nothing_learned, Replay(1), Aim(150.0, 10.0, 80.0), Experience(), env_steps=env_steps)


def evaluation_of(mean: float) -> Metrics:
    return {
        "env_steps": 50_000,
        "eval/desired_return": 210.0,
        "eval/desired_horizon": 190.0,
        "eval/return_mean": mean,
        "eval/return_std": 12.5,
    }


@pytest.mark.parametrize(("mean", "end"), [(150.25, ""), (200.0, "  solved")])
def test_an_evaluation_is_a_line_of_what_was_desired_and_obtained(
    plain: Progress, capsys: pytest.CaptureFixture[str], mean: float, end: str
):
    plain.evaluation(evaluation_of(mean))
    expected = f"50,000 steps  desired 210 in 190 steps  obtained {mean:.1f} ± 12.5{end}\n"
    assert capsys.readouterr().out.lstrip() == expected


def test_without_a_terminal_lines_come_only_now_and_then(plain: Progress, capsys: pytest.CaptureFixture[str]):
    with plain:
        assert capsys.readouterr().out == "task  warming up with random actions\n"
        plain.begin(1_000)
        plain.iteration(state_at(2_000))
        assert capsys.readouterr().out == ""
        plain._last_line -= PLAIN_SECONDS
        plain.iteration(state_at(3_000))
    assert capsys.readouterr().out.startswith("3%  3,000 of 100,000 steps  ")


def test_the_line_says_how_far_how_fast_and_how_well(plain: Progress):
    plain.begin(1_000)
    plain.evaluation(evaluation_of(150.25))
    line = plain._line(state_at(21_000), plain._began + 10.0)
    assert line.split("  ") == [
        "21%",
        "21,000 of 100,000 steps",
        "0:39 left",
        "2,000 steps/s",
        "evaluation 150.2",
        "command 150 in 80",
        "task",
    ]


def test_on_a_tiny_terminal_the_live_line_is_cut_to_one(monkeypatch: pytest.MonkeyPatch):
    output = io.StringIO()
    terminal = partial(Console, file=output, force_terminal=True, width=WIDTH, height=4)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(udrl.progress, "Console", terminal)
    with Progress("task", 100_000, solved_return=None) as progress:
        progress.begin(1_000)
        progress.iteration(state_at(21_000))
        assert progress._live is not None
        progress._live.refresh()
        shown = CONTROL_CODES.sub("", output.getvalue())
    assert "\n" not in shown
    last = shown.split("\r")[-1]
    assert last.startswith("21%  21,000 of 100,000 steps  ")
    assert last.endswith("…")
    assert len(last) == WIDTH
