"""What a person sees while an agent trains, on a terminal and elsewhere."""

import io
import re
from functools import partial

import pytest
from rich.console import Console

import udrl.progress
from udrl.command import Command
from udrl.progress import PLAIN_SECONDS, Progress
from udrl.run_folder import Metrics

CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WIDTH = 40


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Progress:
    """Progress whose output is no terminal, but wide enough for any line."""
    monkeypatch.setattr(udrl.progress, "Console", partial(Console, force_terminal=False))
    return Progress("task", 100_000, solved_return=200.0)


COMMAND = Command(150.0, 80.0)


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


def test_what_obeys_no_command_shows_none(plain: Progress, capsys: pytest.CaptureFixture[str]):
    metrics = {name: value for name, value in evaluation_of(150.25).items() if "desired" not in name}
    plain.evaluation(metrics)
    assert capsys.readouterr().out.lstrip() == "50,000 steps  obtained 150.2 ± 12.5\n"
    assert "command" not in plain._line(21_000, None, plain._began + 10.0)


def test_without_a_terminal_lines_come_only_now_and_then(plain: Progress, capsys: pytest.CaptureFixture[str]):
    with plain:
        assert capsys.readouterr().out == "task  warming up with random actions\n"
        plain.begin(1_000)
        plain.iteration(2_000, COMMAND)
        assert capsys.readouterr().out == ""
        plain._last_line -= PLAIN_SECONDS
        plain.iteration(3_000, COMMAND)
    assert capsys.readouterr().out.startswith("3%  3,000 of 100,000 steps  ")


def test_the_line_says_how_far_how_fast_and_how_well(plain: Progress):
    plain.begin(1_000)
    plain.evaluation(evaluation_of(150.25))
    line = plain._line(21_000, COMMAND, plain._began + 10.0)
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
        progress.iteration(21_000, COMMAND)
        assert progress._live is not None
        progress._live.refresh()
        shown = CONTROL_CODES.sub("", output.getvalue())
    assert "\n" not in shown
    last = shown.split("\r")[-1]
    assert last.startswith("21%  21,000 of 100,000 steps  ")
    assert last.endswith("…")
    assert len(last) == WIDTH
