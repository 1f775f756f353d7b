"""Keeps other web pages out: a request must be meant for this server, and come from its own page or from no page.

A page elsewhere can make the person's browser send requests here: under a name of its own that it points at this
machine (then Host is foreign), or across sites (then Origin is).
"""

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""What a browser is told about the page: it loads nothing from elsewhere, and nobody may frame or embed it."""


def is_own_host(header: str, bound: str) -> bool:
    """Whether a Host header names this server, listening at `bound`.

    Any port will do, since a tunnel changes it; names are what an attacker can point at us, addresses are not.
    """
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name == bound.lower():
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(bound)


def is_own_origin(origin: str, host: str) -> bool:
    """Whether an Origin header names the page that this server itself gave."""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


class Guard:
    """Wraps an application: what is foreign never reaches it."""

    def __init__(self, app: App, bound: str) -> None:
        self._app, self._bound = app, bound

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if sentence := self._objection(scope):
            await _refuse(scope, receive, send, sentence)
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [pair for pair in message["headers"] if pair[0].decode() not in HEADERS] + ours
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _objection(self, scope: Scope) -> str:
        values: dict[bytes, list[str]] = {b"host": [], b"origin": []}
        for name, value in scope["headers"]:
            if name.lower() in values:
                values[name.lower()].append(value.decode("latin-1"))
        hosts, origins = values[b"host"], values[b"origin"]
        if len(hosts) != 1 or not is_own_host(hosts[0], self._bound):
            return "This server answers under its own address only."
        if len(origins) > 1 or any(not is_own_origin(origin, hosts[0]) for origin in origins):
            return "This server answers its own page only."
        return ""


def is_loopback(bound: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"


async def _refuse(scope: Scope, receive: Receive, send: Send, sentence: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": sentence})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})
