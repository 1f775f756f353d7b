"""What the tests of the page share: a real server in a thread, and a browser without a screen or without anything."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
from websockets.sync.client import ClientConnection, connect

from udrl.agent import Agent, Experience
from udrl.behavior import make_behavior
from udrl.config import Config
from udrl.engines import EnvironmentFactory
from udrl.exploration import Aim
from udrl.page.agents import Agents
from udrl.page.server import Page, address_of, bind, make_server
from udrl.spaces import spaces_of

PATIENCE = 60.0
"""Far more than anything takes: a busy machine fails no test."""


def untrained(environment: EnvironmentFactory, **settings: Any) -> Agent:
    """An agent with the weights that training would begin with, which has seen a little."""
    example = environment()
    observations, actions = spaces_of(example)
    example.close()
    maker: Any = environment
    env_id = settings.pop("env_id", f"{maker.__module__}:{maker.__qualname__}" if isinstance(maker, type) else "")
    config = Config(env_id=env_id, hidden_sizes=(8,), conv_channels=(2,), **settings)
    behavior = make_behavior(observations, actions, config, jax.random.key(0))
    aim, experience = Aim(5.0, 1.0, 8.0), Experience(100, 0.0, 8.0, 1, 20)
    return Agent(behavior.bounded(), config, observations, actions, aim, experience)


def until(condition: Callable[[], Any], wait: Callable[[float], Any] = time.sleep, pause: float = 0.01) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        wait(pause)


@contextlib.contextmanager
def serving(agents: Agents) -> Iterator[tuple[Page, str]]:
    """A page that is served, and its address."""
    page = Page(agents)
    with bind("127.0.0.1", 0) as listening:
        server = make_server(page)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            until(lambda: server.started)
            yield page, address_of(listening)
        finally:
            server.should_exit = True
            thread.join()


class Client:
    """A browser without a page: it says what it is told to, and shows every picture at once."""

    def __init__(self, address: str, **options: Any) -> None:
        self._stack = contextlib.ExitStack()
        connection = connect(f"ws{address.removeprefix('http')}socket", compression=None, max_size=None, **options)
        self.socket: ClientConnection = self._stack.enter_context(connection)
        self.shows = True
        self.pictures: list[tuple[dict[str, Any], list[bytes]]] = []

    def say(self, kind: str, **more: Any) -> None:
        self.socket.send(json.dumps({"type": kind, **more}))

    def next(self) -> dict[str, Any]:
        """What the server says next; pictures come as documents of type "picture"."""
        received = self.socket.recv(PATIENCE)
        if isinstance(received, str):
            return json.loads(received)
        (length,) = struct.unpack(">I", received[:4])
        header = json.loads(received[4 : 4 + length])
        start, pictures = 4 + length, []
        for lane in header["lanes"]:
            pictures.append(received[start : start + lane["bytes"]])
            start += lane["bytes"]
        assert start == len(received)
        self.pictures.append((header, pictures))
        if self.shows:
            self.say("seen", picture=header["picture"])
        return {"type": "picture", **header}

    def until(self, kind: str, condition: Callable[[dict[str, Any]], Any] = lambda said: True) -> dict[str, Any]:
        """The next document of that type for which the condition holds."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            said = self.next()
            if said["type"] == kind and condition(said):
                return said
        raise AssertionError(f"no such {kind} came")

    def begin(self) -> dict[str, Any]:
        """Wait for the first agent, stop, and go as fast as possible; returns what there is to know of the agent."""
        self.say("speed", times=None)
        self.say("play", on=False)
        about = self.until("agents")["lanes"][0]
        self.until("state", lambda state: not state["playing"])
        return about

    def play_episode(self, seed: int, **order: float) -> dict[str, Any]:
        """One whole episode; returns its point in the scatter."""
        self.say("repeat", on=False)
        self.say("play", on=False)
        self.say("order", **order)
        self.say("restart", seed=seed)
        self.say("play", on=True)
        point = self.until("point")
        self.until("state", lambda state: not state["playing"])
        return point

    def close(self) -> None:
        self._stack.close()

    def vanish(self) -> None:
        """Without a word."""
        self.socket.socket.shutdown(socket.SHUT_RDWR)
        self.close()
