"""The websocket as a session uses it: checked messages in, short documents and pictures out."""

import asyncio
import contextlib
import json
import math
import struct
from typing import Any, Literal

from fastapi import WebSocket, WebSocketDisconnect

from udrl.errors import UserError
from udrl.page.messages import Allowance, AnyMessage, read_message
from udrl.page.performance import Outcome, Row

SILENCE = 150.0
"""Seconds without a word after which a browser is taken for gone: an open page says something every 20 seconds, and a
hidden one is woken at least once a minute."""


class Gone(Exception):
    """The browser is gone: whoever wanted to tell it something has nothing left to do."""


class Wire:
    """Every sender waits for its own browser only, and has at most one message on its way."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket, self._allowance = websocket, Allowance()

    async def receive(self) -> AnyMessage | None:
        """What the browser says; None when it is gone, silent for too long or talks too much."""
        while True:
            try:
                async with asyncio.timeout(SILENCE):
                    received = await self._websocket.receive()
            except TimeoutError:
                await self.close("Nothing was heard from this page.")
                return None
            if received["type"] == "websocket.disconnect":
                return None
            if not self._allowance.take():
                await self.close("This page says too much.")
                return None
            try:
                return read_message(received.get("text") or "")
            except UserError as error:
                await self.problem(str(error))

    async def send(self, document: dict[str, Any]) -> None:
        await self._send(text=json.dumps(_finite(document), allow_nan=False, separators=(",", ":")))

    async def problem(self, sentence: str) -> None:
        """Something that the person should know."""
        await self.send({"type": "problem", "sentence": sentence})

    async def point(self, number: int, outcome: Outcome, source: Literal["live", "fill"]) -> None:
        """One more episode of an agent has ended."""
        await self.send(
            {
                "type": "point",
                "agent": number,
                "desired": outcome.desired_return,
                "obtained": outcome.obtained,
                "steps": outcome.steps,
                "source": source,
            }
        )

    async def send_pictures(self, number: int, episode: int, rows: list[list[Row]], pictures: list[bytes]) -> None:
        """One binary message, so that pictures and numbers belong together: the length of a JSON document, it, and
        the pictures one after the other."""
        lanes = [{"rows": new, "bytes": len(picture)} for new, picture in zip(rows, pictures, strict=True)]
        header = {"picture": number, "episode": episode, "lanes": lanes}
        encoded = json.dumps(_finite(header), allow_nan=False, separators=(",", ":")).encode()
        await self._send(data=b"".join([struct.pack(">I", len(encoded)), encoded, *pictures]))

    async def close(self, reason: str) -> None:
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # it is closed
            await self._websocket.close(1008, reason)

    async def _send(self, text: str | None = None, data: bytes | None = None) -> None:
        try:
            if text is not None:
                await self._websocket.send_text(text)
            elif data is not None:
                await self._websocket.send_bytes(data)
        except (RuntimeError, WebSocketDisconnect):
            raise Gone from None


def _finite(value: Any) -> Any:
    """JSON knows no infinities: null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
