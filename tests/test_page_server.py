"""The page's server as browsers and attackers meet it: a real one, over real sockets."""

import contextlib
import dataclasses
import http.client
import io
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("websockets")
Image = pytest.importorskip("PIL.Image")

from pages import Client, serving, until, untrained
from probes import CountedReward
from websockets.exceptions import ConnectionClosed, InvalidStatus

import udrl
from udrl import UserError
from udrl.cli import main
from udrl.page import server, session, wire
from udrl.page.agents import Agents, Listed, find_agents
from udrl.page.pace import MOST_UNSEEN
from udrl.page.server import Page, bind
from udrl.render import work_without_screen

PRETRAINED = Path(udrl.__file__).parent / "page" / "pretrained"
work_without_screen()


class Watched(CountedReward):
    """Eight steps of reward 0 or 1, slow enough to be caught in the act; counts how many of it there are."""

    open = 0
    metadata = {"render_modes": ["rgb_array"], "render_fps": 1000}  # noqa: RUF012 (Gymnasium's own)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        Watched.open += 1

    def render(self) -> Any:
        return np.full((12, 16, 3), 20 * self.t, np.uint8)

    def close(self) -> None:
        Watched.open -= 1


class Broken(Watched):
    def step(self, action: Any) -> Any:
        if self.t == 3:
            raise ValueError("out of balls")
        return super().step(action)


@pytest.fixture(scope="module")
def pretrained() -> Iterator[tuple[Page, str]]:
    with serving(Agents(find_agents(PRETRAINED))) as served:
        yield served


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    path = tmp_path_factory.mktemp("agents") / "counter.safetensors"
    untrained(Watched).save(path)
    with serving(Agents([Listed("counter", path, "counter"), Listed("again", path, "counter")], Watched)) as served:
        yield served


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    content: bytes


def ask(address: str, path: str, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    with contextlib.closing(connection):
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())


def test_the_page_asks_nobody_else_for_anything(pretrained: tuple[Page, str]) -> None:
    answer = ask(pretrained[1], "/")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    for file in server.STATIC.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert ask(pretrained[1], f"/{file.name}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "169.254.169.254"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/main.js", "/socket", "/recordings/x"])
def test_foreign_pages_get_nothing(pretrained: tuple[Page, str], headers: dict[str, str], path: str) -> None:
    answer = ask(pretrained[1], path, **headers)
    assert answer.status == 403
    assert b"only." in answer.content


def test_foreign_pages_open_no_websocket(pretrained: tuple[Page, str]) -> None:
    page, address = pretrained
    port = urlsplit(address).port
    for origin in ("http://evil.example", "null", f"http://localhost:{port}", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus, match="403"):
            Client(address, origin=origin)
    # A name of the attacker's own that leads to this machine: page and websocket have the same foreign Host.
    rebound = socket.create_connection(("127.0.0.1", port or 0))
    with rebound, pytest.raises(InvalidStatus, match="403"):
        Client(f"http://evil.example:{port}/", origin=f"http://evil.example:{port}", sock=rebound)
    assert not page.sessions
    own = Client(address, origin=address.rstrip("/"))
    own.until("hello")
    own.close()
    until(lambda: not page.sessions)


@pytest.mark.parametrize(
    "path",
    [
        "/../agents.py",
        "/..%2fagents.py",
        "/%2e%2e/agents.py",
        "/static/../../agents.py",
        "//etc/passwd",
        "/recordings/..%2f..%2fagents.py",
        "/recordings/",
        "/docs",
        "/openapi.json",
        "/pretrained/cartpole.safetensors",
    ],
)
def test_nothing_but_the_page_is_served(pretrained: tuple[Page, str], path: str) -> None:
    assert ask(pretrained[1], path).status in (404, 405)


def test_an_order_no_agent_can_be_given_gets_a_sentence(pretrained: tuple[Page, str]) -> None:
    client = Client(pretrained[1])
    client.begin()
    for value in ("NaN", "Infinity", "-Infinity", "1e300", "1" + "0" * 300):
        client.socket.send(f'{{"type": "order", "desired_return": {value}}}')
        sentence = client.until("problem")["sentence"]
        assert "finite number that float32 can hold" in sentence
    client.socket.send('{"type": "order", "desired_return": "seven"}')
    assert "valid number" in client.until("problem")["sentence"]
    client.say("agents", agents=[7])
    assert "There is no agent 7" in client.until("problem")["sentence"]
    client.socket.send(b"\x00\x01")
    assert "not understood" in client.until("problem")["sentence"]
    assert client.play_episode(0, desired_return=20.0, desired_horizon=20.0)["steps"] > 0  # and goes on
    client.close()


@pytest.mark.parametrize("text", ["x" * 3000, '{"type": "here"}'])
def test_too_much_ends_the_session(pretrained: tuple[Page, str], text: str) -> None:
    client = Client(pretrained[1])

    def talk() -> None:
        for _ in range(100_000):
            client.socket.send(text)

    with pytest.raises(ConnectionClosed):  # one that is too long, or too many
        talk()
    until(lambda: not pretrained[0].sessions)


def test_the_return_approaches_the_order(pretrained: tuple[Page, str]) -> None:
    client = Client(pretrained[1])
    about = client.begin()
    assert about["label"] == "cartpole"
    for order in (30.0, 120.0):
        point = client.play_episode(1, desired_return=order, desired_horizon=order)
        assert point["obtained"] == pytest.approx(order, rel=0.3)
        assert point["desired"] == pytest.approx(order)
        assert point["source"] == "live"
    header, [picture] = client.pictures[-1]
    assert Image.open(io.BytesIO(picture)).size == (600, 400)
    assert header["lanes"][0]["rows"][-1][4] is None  # nothing is chosen after the end
    client.close()


def test_the_same_seed_and_order_is_the_same_episode(pretrained: tuple[Page, str]) -> None:
    clients = [Client(pretrained[1]) for _ in range(2)]
    for client in clients:
        client.begin()
    points = [client.play_episode(5, desired_return=80.0, desired_horizon=80.0) for client in clients]
    assert points[0] == points[1]
    for client in clients:
        client.close()


def test_two_agents_obey_the_same_order_with_the_same_seed(counting: tuple[Page, str]) -> None:
    client = Client(counting[1])
    client.begin()
    client.say("agents", agents=[0, 1])
    assert [lane["label"] for lane in client.until("agents")["lanes"]] == ["counter", "again"]
    client.say("play", on=False)
    client.say("restart", seed=3)
    client.say("repeat", on=False)
    client.say("play", on=True)
    points = [client.until("point"), client.until("point")]
    assert {point["agent"] for point in points} == {0, 1}
    assert points[0]["obtained"] == points[1]["obtained"]  # they are the same agent
    assert all(len(parts) == 2 for _, parts in client.pictures[-2:])
    client.close()
    until(lambda: Watched.open == 0)


def test_a_step_is_one_step(counting: tuple[Page, str]) -> None:
    client = Client(counting[1])
    client.begin()
    client.say("restart", seed=1)
    client.until("picture", lambda said: said["lanes"][0]["rows"][-1][0] == 0)
    for t in (1, 2, 3):
        client.say("step")
        rows = client.until("picture")["lanes"][0]["rows"]
        assert [row[0] for row in rows] == [t - 1, t]
    client.close()


def test_a_slow_browser_is_sent_less_and_slows_nobody(
    counting: tuple[Page, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PAUSE", 0.0)
    page, address = counting
    slow, quick = Client(address), Client(address)
    slow.shows = False
    quick.say("speed", times=None)
    for _ in range(60):
        quick.until("picture")
    slow.say("lines")
    slow.until("lines")  # all that came before
    # Beginnings and ends of episodes are always shown; what is in between is not.
    steps = [header["lanes"][0]["rows"][-1][0] for header, _ in slow.pictures[MOST_UNSEEN:]]
    assert set(steps) <= {0, 8}
    for client in (slow, quick):
        client.close()
    until(lambda: not page.sessions)


def test_a_vanished_browser_frees_its_episode(counting: tuple[Page, str]) -> None:
    page, address = counting
    until(lambda: not page.sessions and Watched.open == 0)
    stays, leaves = Client(address), Client(address)
    for client in (stays, leaves):
        client.begin()
    assert Watched.open == 2
    leaves.vanish()
    until(lambda: len(page.sessions) == 1 and Watched.open == 1)
    assert stays.play_episode(1)["steps"] == 8
    stays.close()
    until(lambda: not page.sessions and Watched.open == 0)
    until(lambda: not any(thread.name.startswith("lane") for thread in threading.enumerate()))


def test_a_silent_browser_is_taken_for_gone(counting: tuple[Page, str], monkeypatch: pytest.MonkeyPatch) -> None:
    page, address = counting
    monkeypatch.setattr(wire, "SILENCE", 0.3)
    client = Client(address)
    client.shows = False
    with pytest.raises(ConnectionClosed, match="Nothing was heard"):
        client.until("never")
    until(lambda: not page.sessions and Watched.open == 0)


def test_only_so_many_pages_at_a_time(counting: tuple[Page, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_SESSIONS", 1)
    page, address = counting
    first, second = Client(address), Client(address)
    first.until("agents")
    with pytest.raises(ConnectionClosed, match="open already"):
        second.until("agents")
    first.close()
    until(lambda: not page.sessions)


def test_an_environment_that_breaks_says_so(tmp_path: Path) -> None:
    untrained(Broken).save(tmp_path / "agent.safetensors")
    with serving(Agents([Listed("broken", tmp_path / "agent.safetensors", "broken")], Broken)) as (_, address):
        client = Client(address)
        assert "out of balls" in client.until("problem")["sentence"]
        client.say("restart", seed=4)
        assert client.until("state")["playing"] is False
        client.close()


def test_the_whole_range_is_run_in_the_background(pretrained: tuple[Page, str]) -> None:
    client = Client(pretrained[1])
    client.begin()
    client.say("fill", episodes=12)
    points = [client.until("point") for _ in range(12)]
    assert client.until("filling", lambda said: said["done"] == 12)["of"] == 12
    desired, obtained = ([point[name] for point in points] for name in ("desired", "obtained"))
    assert max(desired) - min(desired) > 400
    assert np.corrcoef(desired, obtained)[0, 1] > 0.95
    assert {point["source"] for point in points} == {"fill"}
    client.say("fill", episodes=200)
    client.until("filling", lambda said: said["done"] > 0)
    client.say("fill", episodes=0)
    client.until("filling", lambda said: said["of"] == 0)
    client.close()


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_an_episode_is_recorded_and_can_be_fetched_while_its_page_is_open(counting: Any, suffix: str) -> None:
    pytest.importorskip("imageio_ffmpeg")
    page, address = counting
    client = Client(address)
    client.begin()
    client.say("restart", seed=2)
    client.say("record", format=suffix)
    assert "nothing to record" in client.until("problem")["sentence"]
    for _ in range(5):
        client.say("step")
    client.say("record", format=suffix)
    done = client.until("recording", lambda said: "name" in said)
    assert done["of"] == 6
    answer = ask(address, f"/recordings/{done['name']}")
    assert answer.status == 200
    assert (answer.content[:6] == b"GIF89a") if suffix == "gif" else (answer.content[4:8] == b"ftyp")
    assert done["file"] in answer.headers["content-disposition"]
    assert ask(address, "/recordings/guess").status == 404
    client.close()
    until(lambda: not page.sessions)
    assert ask(address, f"/recordings/{done['name']}").status == 404


def test_a_port_that_is_taken_and_addresses_that_are_none() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(UserError, match=r"in use.*leave --port out"):
        bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(UserError, match="There is no address"):
        bind("no.such.machine.invalid", 0)
    with pytest.raises(UserError, match="port must be"):
        bind("127.0.0.1", 70_000)


@pytest.mark.parametrize("command", [["play", "runs"], ["play", "--help"], ["demo", "--help"]])
def test_a_missing_extra_is_named(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    if "--help" in command:
        with pytest.raises(SystemExit):
            main(command)
        assert "udrl[play]" in capsys.readouterr().out
    else:
        assert main(command) == 2
        assert "pip install 'udrl[play]'" in capsys.readouterr().err


def test_without_the_page_the_demo_obeys_in_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("udrl.page.agents.has_extra", lambda: False)
    assert main(["demo"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("desired")]
    assert len(lines) >= 4
    for _, desired, _, obtained, *_ in lines:
        assert float(obtained) == pytest.approx(float(desired), rel=0.25)


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    import signal
    import subprocess

    command = [sys.executable, "-m", "udrl.cli", "demo", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = next(word for word in first.split() if word.startswith("http://127.0.0.1:"))
        client = Client(address)
        client.until("picture")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "Stopped.\n")
    assert "Traceback" not in err
    assert "Exception" not in err
    assert time.monotonic() - began < 30
