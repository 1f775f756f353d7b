"""Pictures a second that a browser gets from `udrl play` on one core, of LunarLander; prints one JSON line.

    python benchmarks/page.py

The server runs in a process of its own on one core; the browser is a websocket client on another, that shows each
picture at once. `real_time` is what a person sees at first (LunarLander's 50 a second are as many as there can be),
`full_speed` the most, where as many steps are taken between two pictures as there is time for.
"""

import contextlib
import dataclasses
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import tyro
from websockets.sync.client import ClientConnection, connect

import udrl
from udrl.cores import allowed_cores

AGENT = Path(udrl.__file__).parent / "page" / "pretrained" / "lunarlander.safetensors"


@dataclasses.dataclass(frozen=True)
class Arguments:
    agent: Path = AGENT
    """An agent file or run folder."""
    seconds: float = 10.0
    """Length of each measurement."""
    browsers: int = 1
    """Open at once, each with an episode of its own; the first one is measured."""


def measure(client: ClientConnection, times: float | None, seconds: float) -> dict[str, float]:
    """Pictures, steps and bytes a second at this speed."""
    client.send(json.dumps({"type": "speed", "times": times}))
    pictures = steps = size = 0
    began = 0.0
    while not began or time.perf_counter() < began + seconds:
        received = client.recv()
        if isinstance(received, str):
            continue
        (length,) = struct.unpack(">I", received[:4])
        header = json.loads(received[4 : 4 + length])
        client.send(json.dumps({"type": "seen", "picture": header["picture"]}))
        rows = header["lanes"][0]["rows"]
        if not began and rows[0][0] > 10:  # everything is compiled
            began = time.perf_counter()
        elif began:
            pictures, steps, size = pictures + 1, steps + sum(row[5] is not None for row in rows), size + len(received)
    took = time.perf_counter() - began
    return {
        "pictures_per_second": round(pictures / took, 1),
        "steps_per_second": round(steps / took),
        "kilobytes_per_picture": round(size / max(pictures, 1) / 1000, 1),
    }


def main(arguments: Arguments) -> None:
    cores = allowed_cores()
    command = [sys.executable, "-m", "udrl.cli", "play", str(arguments.agent), "--no-browser"]
    if len(cores) > 1:
        command = ["taskset", "--cpu-list", str(cores[0]), *command]
        os.sched_setaffinity(0, cores[1:])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(word for word in server.stdout.readline().split() if word.startswith("http://"))
            socket = f"ws{address.removeprefix('http')}socket"
            with contextlib.ExitStack() as stack:
                connections = [connect(socket, compression=None, max_size=None) for _ in range(arguments.browsers)]
                clients = [stack.enter_context(connection) for connection in connections]
                speeds = {"real_time": 1.0, "full_speed": None}
                result = {name: measure(clients[0], times, arguments.seconds) for name, times in speeds.items()}
        finally:
            server.terminate()
    print(json.dumps({"benchmark": "page", "agent": arguments.agent.stem, "browsers": arguments.browsers, **result}))


if __name__ == "__main__":
    main(tyro.cli(Arguments))
