"""What a person sees of many runs: one live table on a terminal, plain lines elsewhere."""

import dataclasses
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Literal

import numpy as np
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from udrl.experiments.definition import Run
from udrl.progress import PLAIN_SECONDS, clock

Status = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclasses.dataclass
class RunState:
    """A run as the machine that started it knows it."""

    run: Run
    budget: int
    status: Status = "waiting"
    env_steps: int = 0
    evaluation: float | None = None
    """Mean return of the last one."""
    losses: int = 0
    """How often its process was lost without having got further."""
    lost_at: int = -1
    _first: tuple[float, int] | None = None
    _last: tuple[float, int] | None = None

    def is_at(self, env_steps: int, evaluation: float | None) -> None:
        """What the run reports."""
        if env_steps and (self._first is None or env_steps < self._first[1]):
            self._first = time.monotonic(), env_steps
        if env_steps != self.env_steps:
            self._last = time.monotonic(), env_steps
        self.status, self.env_steps, self.evaluation = "running", env_steps, evaluation

    def forget_speed(self) -> None:
        """It begins anew, perhaps on another machine."""
        self._first = self._last = None

    @property
    def speed(self) -> float:
        """Steps per second since it began here; 0 where that is not known yet."""
        if self._first is None or self._last is None or self._last[0] - self._first[0] < 0.1:
            return 0.0
        return (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])

    @property
    def steps_left(self) -> int:
        return 0 if self.status in ("done", "failed") else max(self.budget - self.env_steps, 0)


def seconds_left(states: Sequence[RunState]) -> float | None:
    """From the speeds of the same group's runs, or of all where a group has none yet; None before there are any."""
    known = [state.speed for state in states if state.speed > 0]
    running = [state for state in states if state.status == "running"]
    if not known or not running:
        return None
    needed = []
    for state in states:
        of_group = [other.speed for other in states if other.run.group == state.run.group and other.speed > 0]
        needed.append(state.steps_left / float(np.mean([state.speed] if state.speed > 0 else of_group or known)))
    # No run is divided among cores: the longest one decides where few are left.
    return max(sum(needed) / len(running), max(needed))


class ExperimentTable:
    """Counts runs by what they are doing, one row per group."""

    def __init__(self, title: str, states: Sequence[RunState], quiet: bool = False, by_group: bool = True) -> None:
        self._title, self._states, self._by_group = title, states, by_group
        self._console = Console(quiet=quiet, highlight=False)
        self._live: Live | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> "ExperimentTable":
        if self._console.is_terminal and not self._console.quiet:
            self._live = Live(self.table(), console=self._console, auto_refresh=False)
            self._live.start()
        else:
            self.say(self.line())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.update(self.table(), refresh=True)
            self._live.stop()
        elif kind is None:
            self.say(self.line())

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, soft_wrap=True, markup=False)

    def update(self) -> None:
        """Show how things are now."""
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self.table(), refresh=True)
        elif now - self._last_line >= PLAIN_SECONDS:
            self._last_line = now
            self.say(self.line())

    def line(self) -> str:
        counts = f"{_count(self._states, 'waiting')} waiting, {_count(self._states, 'running')} running, "
        counts += f"{_count(self._states, 'done')} done, {_count(self._states, 'failed')} failed"
        stopped = _count(self._states, "stopped")
        parts = [f"{self._title}: {counts}{f', {stopped} stopped' if stopped else ''}"]
        speed = _speed(self._states)
        if speed > 0:
            left = seconds_left(self._states)
            parts += [f"{speed:,.0f} steps/s", *([] if left is None else [f"{clock(left)} left"])]
        return "  ".join(parts)

    def table(self) -> Table:
        groups: dict[str, list[RunState]] = {}
        for state in self._states if self._by_group else []:
            groups.setdefault(state.run.group, []).append(state)
        several = len(groups) != 1
        table = Table(box=box.SIMPLE_HEAD, show_footer=several, pad_edge=False)
        rows = [_row(name, states) for name, states in groups.items()]
        total = _row(self._title, self._states)
        header = "runs", "waiting", "running", "done", "failed", "steps", "steps/s", "left", "evaluation"
        for i, (title, footer) in enumerate(zip(header, total, strict=True)):
            if i == len(header) - 1 and several:
                footer = ""  # the mean over different tasks says nothing
            table.add_column(title, footer, justify="right" if i else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        return table


def _row(name: str, states: Sequence[RunState]) -> list[str]:
    counts = [str(_count(states, status) or "·") for status in ("waiting", "running", "done", "failed")]
    budget = sum(state.budget for state in states)
    steps = sum(min(state.env_steps, state.budget) for state in states)
    speed, left = _speed(states), seconds_left(states)
    evaluations = [state.evaluation for state in states if state.evaluation is not None]
    return [
        name,
        *counts,
        f"{steps / budget:.0%}" if budget else "",
        f"{speed:,.0f}" if speed > 0 else "",
        "" if left is None else clock(left),
        f"{np.mean(evaluations):.1f}" if evaluations else "",
    ]


def _count(states: Iterable[RunState], status: Status) -> int:
    return sum(state.status == status for state in states)


def _speed(states: Iterable[RunState]) -> float:
    return sum(state.speed for state in states if state.status == "running")
