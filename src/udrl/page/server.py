"""The server: one page, one websocket per browser, recordings to download; nothing else is answered."""

import contextlib
import os
import socket
import threading
import webbrowser
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, WebSocket
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from udrl.errors import UserError
from udrl.page.agents import Agents
from udrl.page.guard import Guard, is_loopback
from udrl.page.messages import MOST_BYTES
from udrl.page.session import Session
from udrl.page.wire import Wire

STATIC = Path(__file__).parent / "static"
MOST_SESSIONS = 12
"""Browsers at a time; each may have two environments."""


class Page:
    """The application, and the sessions that are open."""

    def __init__(self, agents: Agents, host: str = "127.0.0.1", env_id: str | None = None) -> None:
        self._agents, self._env_id = agents, env_id
        self.sessions: set[Session] = set()
        # Without the documentation pages of FastAPI: they load from another machine.
        application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        application.websocket("/socket")(self._session)
        application.get("/recordings/{name}")(self._recording)
        application.mount("/", StaticFiles(directory=STATIC, html=True))
        self.application = Guard(application, host)

    async def _session(self, websocket: WebSocket) -> None:
        await websocket.accept()
        wire = Wire(websocket)
        if len(self.sessions) >= MOST_SESSIONS:
            await wire.close(f"{MOST_SESSIONS} pages are open already: close one.")
            return
        session = Session(self._agents, wire, self._env_id)
        self.sessions.add(session)
        try:
            await session.run()
        finally:
            self.sessions.discard(session)

    async def _recording(self, name: str) -> FileResponse:
        for session in self.sessions:
            if (path := session.recording(name)) is not None:
                return FileResponse(path, filename=path.name)
        raise HTTPException(404)


def bind(host: str, port: int) -> socket.socket:
    """The address to listen at, taken before anything slow is done; port 0 is a free one."""
    if not 0 <= port < 2**16:
        raise UserError(f"port must be from 0 to {2**16 - 1}, not {port}.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except socket.gaierror as error:
        raise UserError(f"There is no address '{host}' here ({error.strerror}).") from None
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise UserError(f"Port {port} of {host} cannot be had ({reason}): leave --port out for a free one.") from None


def address_of(listening: socket.socket) -> str:
    """What a person opens."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def make_server(page: Page) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            page.application,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,  # pictures are compressed already
            server_header=False,
            timeout_graceful_shutdown=3,
        )
    )


def serve(agents: Agents, host: str, port: int, env_id: str | None = None, browser: bool = True) -> None:
    """Serve the page until Ctrl-C."""
    with bind(host, port) as listening:
        agents.get(0)  # what is wrong with it is said before anybody opens the page
        address = address_of(listening)
        print(f"Open {address} to command {'it' if len(agents) == 1 else 'them'}; Ctrl-C ends.", flush=True)
        if not is_loopback(host):
            print("Everybody who can reach this machine can open the page: it has no password.", flush=True)
        if browser:  # a browser without windows would keep us waiting
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            make_server(Page(agents, host, env_id)).run([listening])
    print("Stopped.")
