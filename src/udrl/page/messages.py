"""What a browser may say: a few kinds of short messages, each checked before anything else looks at it."""

import time
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from udrl.errors import UserError

MOST_BYTES = 2048
"""No message that the page sends is a tenth as long."""


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Order(Message):
    """A new order from the next step on; what is left out goes on as it is."""

    type: Literal["order"]
    desired_return: float | None = None
    desired_horizon: float | None = None


class Play(Message):
    type: Literal["play"]
    on: bool


class Step(Message):
    type: Literal["step"]


class Restart(Message):
    """Begin an episode; without a seed, with the one of the last."""

    type: Literal["restart"]
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class Speed(Message):
    """Times real time; without a number as fast as possible."""

    type: Literal["speed"]
    times: Annotated[float, Field(ge=0.01, le=100)] | None


class Repeat(Message):
    """Whether the next episode begins by itself."""

    type: Literal["repeat"]
    on: bool


class Choose(Message):
    """One agent, or two that are compared, by their numbers in the server's list."""

    type: Literal["agents"]
    agents: Annotated[list[Annotated[int, Field(ge=0, le=10**6)]], Field(min_length=1, max_length=2)]


class Fill(Message):
    """Episodes over the whole range, in the background; 0 stops it."""

    type: Literal["fill"]
    episodes: Annotated[int, Field(ge=0, le=200)]


class Record(Message):
    """A video of the episode so far."""

    type: Literal["record"]
    format: Literal["mp4", "gif"]


class Lines(Message):
    """The Python lines that reproduce the episode."""

    type: Literal["lines"]


class Seen(Message):
    """The browser has shown the picture with this number, and is ready for more."""

    type: Literal["seen"]
    picture: Annotated[int, Field(ge=0)]


class Here(Message):
    """The page is still open."""

    type: Literal["here"]


AnyMessage = Order | Play | Step | Restart | Speed | Repeat | Choose | Fill | Record | Lines | Seen | Here
_ADAPTER: TypeAdapter[AnyMessage] = TypeAdapter(Annotated[AnyMessage, Field(discriminator="type")])


def read_message(text: str) -> AnyMessage:
    """A message that is what it should be; anything else is answered with a sentence."""
    if len(text) > MOST_BYTES:
        raise UserError(f"A message has at most {MOST_BYTES} characters.")
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        raise UserError(f"That was not understood{f' ({where})' if where else ''}: {first['msg']}.") from None


class Allowance:
    """How many messages are taken: so many a second on average, and some more at once."""

    def __init__(self, per_second: float = 150.0, at_once: float = 300.0) -> None:
        self._per_second, self._at_once = per_second, at_once
        self._left, self._last = at_once, time.monotonic()

    def take(self) -> bool:
        """One more; false if that is too many."""
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._last) * self._per_second)
        self._last = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
