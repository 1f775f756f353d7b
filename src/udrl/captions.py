"""A picture of an episode with a strip below it that tells what was asked, what remains, and what was obtained."""

import dataclasses
from typing import Any

import numpy as np

from udrl.command import Command
from udrl.errors import UserError

LARGE_ENOUGH, TOO_LARGE = 480, 4096
"""Pixels of a picture's longer side: smaller ones are magnified, by whole numbers so that they stay sharp."""
NARROWEST = 320
"""A strip is at least so wide, so that its words can be read."""
BACKGROUND, LABEL, VALUE = (24, 26, 31), (150, 156, 168), (244, 245, 247)


@dataclasses.dataclass(frozen=True)
class Moment:
    """What there is to see after `t` steps of an episode."""

    picture: np.ndarray  # [h, w, 3] uint8
    asked: Command
    """The order that the episode began with."""
    command: Command
    """What is still desired."""
    obtained: float
    t: int
    is_last: bool
    episode: int = 0


class Captions:
    """Draws the pictures [H, W, 3] of a video, H and W even, from moments whose pictures are all of one size."""

    def __init__(self, height: int, width: int, scale: int | None = None) -> None:
        from PIL import ImageFont

        longest, self._shape = max(height, width), (height, width, 3)
        self._scale = scale or -(-LARGE_ENOUGH // longest)
        if longest * self._scale > TOO_LARGE:
            raise UserError(f"Pictures of {width}x{height} times {self._scale} are too large for a video.")
        self._width, self._height = width * self._scale, height * self._scale
        self.width = _even(max(self._width, NARROWEST))
        size = max(self.width // 34, 10)
        self._label_font, self._value_font = ImageFont.load_default(0.8 * size), ImageFont.load_default(size)
        self._margin, self._line = size, round(1.3 * size)
        self.height = _even(self._height + 3 * self._line + self._margin // 2)

    def draw(self, moment: Moment) -> np.ndarray:  # [H, W, 3] uint8
        """The magnified picture, and the strip."""
        from PIL import Image, ImageDraw

        if moment.picture.shape != self._shape:
            raise UserError("The environment's pictures change their size, which a video cannot do.")
        picture = Image.fromarray(moment.picture)
        canvas = Image.new("RGB", (self.width, self.height), BACKGROUND)
        magnified = picture.resize((self._width, self._height), Image.Resampling.NEAREST)
        canvas.paste(magnified, ((self.width - self._width) // 2, 0))
        pen: Any = ImageDraw.Draw(canvas)
        top = self._height + self._line // 2
        for i, (label, value) in enumerate(_words(moment)):
            left = self._margin + i * (self.width - self._margin) // 3
            pen.text((left, top), label, LABEL, self._label_font)
            pen.text((left, top + self._line), value, VALUE, self._value_font)
        return np.asarray(canvas)


def _words(moment: Moment) -> list[tuple[str, str]]:
    """A label and a value per column."""
    episode = f", episode {moment.episode + 1}" if moment.episode else ""
    return [
        (f"asked{episode}", _order(moment.asked)),
        ("still desired", _order(moment.command)),
        ("obtained", f"{_number(moment.obtained)} in {moment.t} {_steps(moment.t)}"),
    ]


def _order(command: Command) -> str:
    steps = f"{float(command.desired_horizon):.0f}"
    return f"{_number(float(command.desired_return))} in {steps} {_steps(float(steps))}"


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) < 1e5 else f"{value:.3g}"


def _steps(n: float) -> str:
    return "step" if n == 1 else "steps"


def _even(n: int) -> int:
    return n + n % 2
