"""What a person sees while an agent trains: one live line on a terminal, plain lines elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from udrl.command import Command
from udrl.run_folder import Metrics

PLAIN_SECONDS = 10.0
"""Time between two progress lines where the output is not a terminal."""


class Progress:
    """Shows steps done and to go, time left, speed, the last evaluation and the current command."""

    def __init__(
        self,
        title: str,
        budget: int,
        solved_return: float | None,
        quiet: bool = False,
        beginning: str = "warming up with random actions",
    ) -> None:
        self._title, self._budget, self._solved = title, budget, solved_return
        self._beginning = beginning
        self._console = Console(quiet=quiet, highlight=False)
        self._live: Live | None = None
        self._began = self._last_line = time.monotonic()
        self._first_step: int | None = None
        self._evaluation = ""
        self._part_began = (0.0, 0)

    def __enter__(self) -> "Progress":
        if self._console.is_terminal and not self._console.quiet:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        self._show(f"{self._title}  {self._beginning}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, soft_wrap=True, markup=False)

    def begin(self, env_steps: int) -> None:
        """Speed counts from here."""
        self._began, self._first_step = time.monotonic(), env_steps

    def iteration(self, env_steps: int, command: Command | None = None) -> None:
        """After an iteration: the live line, or a plain one every now and then."""
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self._text(self._line(env_steps, command, now)), refresh=False)
        elif now - self._last_line >= PLAIN_SECONDS:
            self._last_line = now
            self.say(self._line(env_steps, command, now))

    def part(self, what: str, done: int, total: int) -> None:
        """Within an iteration that takes long: how far it is."""
        now = time.monotonic()
        if done == total:
            self._part_began = (0.0, 0)
            return
        if self._part_began == (0.0, 0):
            self._part_began = (now, done)
            return
        began, first = self._part_began
        left = (now - began) / (done - first) * (total - done)
        line = f"{what} {done} of {total} of this iteration, {clock(left)} left  {self._title}"
        if self._live is not None:
            self._live.update(self._text(line), refresh=False)
        elif now - self._last_line >= PLAIN_SECONDS:
            self._last_line = now
            self.say(line)

    def evaluation(self, metrics: Metrics) -> None:
        """After an evaluation: a line that stays."""
        mean = metrics["eval/return_mean"]
        self._evaluation = f"evaluation {mean:.1f}"
        desired = ""
        if "eval/desired_return" in metrics:  # the baselines obey no command
            desired = f"desired {metrics['eval/desired_return']:.0f} in {metrics['eval/desired_horizon']:.0f} steps  "
        solved = "  solved" if self._solved is not None and mean >= self._solved else ""
        self.say(
            f"{metrics['env_steps']:>11,} steps  {desired}"
            f"obtained {mean:.1f} ± {metrics['eval/return_std']:.1f}{solved}"
        )

    def _line(self, env_steps: int, command: Command | None, now: float) -> str:
        done = env_steps - (self._first_step or 0)
        speed = done / max(now - self._began, 1e-9)
        left = max(self._budget - env_steps, 0) / max(speed, 1e-9)
        # The most wanted first: a narrow terminal cuts the rest off.
        parts = [
            f"{env_steps / self._budget:.0%}",
            f"{_millions(env_steps)} of {_millions(self._budget)} steps",
            f"{clock(left)} left",
            f"{speed:,.0f} steps/s",
            self._evaluation,
            "" if command is None else f"command {_show(command)}",
            self._title,
        ]
        return "  ".join(part for part in parts if part)

    def _show(self, line: str) -> None:
        if self._live is not None:
            self._live.update(self._text(line), refresh=True)
        else:
            self.say(line)

    @staticmethod
    def _text(line: str) -> Text:
        return Text(line, no_wrap=True, overflow="ellipsis")


def _show(command: Command) -> str:
    return f"{float(command.desired_return):.0f} in {float(command.desired_horizon):.0f}"


def _millions(steps: int) -> str:
    return f"{steps / 1e6:.2f}M" if steps >= 1_000_000 else f"{steps:,}"


def clock(seconds: float) -> str:
    """Minutes and seconds, hours where there are any."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
