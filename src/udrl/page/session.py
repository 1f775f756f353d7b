"""One browser's session: its orders, its episodes, its pace. Sessions share agents and nothing else."""

import asyncio
import contextlib
import time
from collections import deque
from typing import Any

from udrl.command import Command
from udrl.errors import TrainingError, UserError
from udrl.page import messages
from udrl.page.agents import Agents
from udrl.page.jobs import Jobs
from udrl.page.lane import Lane
from udrl.page.lines import python_lines
from udrl.page.pace import Pace
from udrl.page.performance import Row
from udrl.page.wire import Gone, Wire

PAUSE = 1.5
"""Seconds between the end of an episode and the beginning of the next, in real time."""
FASTEST = 15.0
"""Times real time that a pause is shortened by where steps are as fast as possible."""
MOST_ROWS = 4000
"""Rows that are kept for a browser that takes none; the oldest are dropped."""


class Session:
    """Reads what the browser says in one task and plays in another, so that neither waits for the other."""

    def __init__(self, agents: Agents, wire: Wire, env_id: str | None = None) -> None:
        self._agents, self._wire, self._env_id = agents, wire, env_id
        self._pace, self._jobs = Pace(), Jobs(agents, wire)
        self._lanes: list[Lane] = []
        self._rows: list[deque[Row]] = []
        self._inbox: deque[messages.AnyMessage] = deque()
        self._wake = asyncio.Event()
        self._dials = Command(0.0, 1.0)
        self._seed, self._episode, self._is_playing, self._repeats = 0, 0, True, True

    async def run(self) -> None:
        """Until the browser is gone."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._play())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self._jobs.close()
            self._close_lanes()
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, Gone):
                raise result

    async def _listen(self) -> None:
        while (message := await self._wire.receive()) is not None:
            if isinstance(message, messages.Seen):
                self._pace.seen(message.picture)
            elif not isinstance(message, messages.Here):
                self._inbox.append(message)
            self._wake.set()

    async def _play(self) -> None:
        await self._wire.send({"type": "hello", "agents": self._agents.summary()})
        await self._guarded(self._choose([0]))
        while True:
            while self._inbox:
                await self._guarded(self._handle(self._inbox.popleft()))
            if self._is_playing and self._lanes and not self._pace.is_stalled():
                await self._guarded(self._tick())
            else:
                await self._sleep(1.0)

    async def _guarded(self, action: Any) -> None:
        """What goes wrong is said to this browser, and its page goes on."""
        try:
            await action
        except (UserError, TrainingError) as error:
            self._is_playing = False
            await self._wire.problem(str(error))
            await self._tell()

    async def _sleep(self, seconds: float) -> None:
        """Until then, or until the browser says something."""
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _handle(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.Order():
                await self._order(message)
            case messages.Play():
                await self._set_playing(message.on)
            case messages.Step():
                await self._step()
            case messages.Restart():
                await self._begin(self._seed if message.seed is None else message.seed)
            case messages.Speed():
                self._pace.times = message.times
                self._pace.begin()
            case messages.Repeat():
                self._repeats = message.on
            case messages.Choose():
                await self._choose(message.agents)
            case messages.Fill():
                self._jobs.fill(self._lanes, message.episodes, float(self._dials.desired_horizon))
            case messages.Record():
                self._jobs.record(self._lanes, message.format)
            case messages.Lines():
                await self._send_lines()
            case _:
                pass

    async def _choose(self, numbers: list[int]) -> None:
        """Show these agents, and let them begin."""
        agents = [await asyncio.to_thread(self._agents.get, number) for number in numbers]
        first = not self._lanes or self._lanes[0].number != numbers[0]
        lanes: list[Lane] = []
        try:
            for number, agent in zip(numbers, agents, strict=True):
                lane = Lane(number, agent, self._agents.environment)
                await lane.open()
                lanes.append(lane)
        except BaseException:
            for lane in lanes:
                lane.close()
            raise
        self._close_lanes()
        self._lanes, self._rows = lanes, [deque(maxlen=MOST_ROWS) for _ in lanes]
        if first:
            self._dials = agents[0].evaluation_command.checked()
        about = [
            {
                **self._agents.about(lane.number),
                "draws": lane.performance.draws,
                "why_not": lane.performance.why_not,
                "fps": lane.performance.fps,
            }
            for lane in lanes
        ]
        await self._wire.send({"type": "agents", "lanes": about})
        await self._begin(self._seed)

    async def _begin(self, seed: int) -> None:
        """All lanes begin an episode under the order of the dials."""
        self._seed, self._episode = seed, self._episode + 1
        for lane, rows in zip(self._lanes, self._rows, strict=True):
            rows.clear()
            rows.append(await lane.do(lambda performance: performance.begin(self._dials, seed)))
        self._pace.begin()
        await self._tell()
        await self._show(must_show=True)

    async def _order(self, order: messages.Order) -> None:
        command = Command(
            float(self._dials.desired_return) if order.desired_return is None else order.desired_return,
            float(self._dials.desired_horizon) if order.desired_horizon is None else order.desired_horizon,
        )
        try:
            self._dials = command.checked()
        except UserError as error:  # the episode goes on as it was
            await self._wire.problem(str(error))
            return
        for lane, rows in zip(self._lanes, self._rows, strict=True):
            if not lane.performance.is_over:
                rows.append(await lane.do(lambda p: p.order(order.desired_return, order.desired_horizon)))
        await self._tell()
        await self._show(must_show=True)

    async def _set_playing(self, on: bool) -> None:
        self._is_playing = on
        self._pace.begin()
        if on and self._lanes and all(lane.performance.is_over for lane in self._lanes):
            await self._begin((self._seed + 1) % 2**31)
        else:
            await self._tell()

    async def _step(self) -> None:
        self._is_playing = False
        if all(lane.performance.is_over for lane in self._lanes):
            await self._begin((self._seed + 1) % 2**31)
            return
        await self._tell()
        await self._advance(1, must_show=True)

    async def _tick(self) -> None:
        """The next steps, when they are due; after the end the next episode, if it is to come by itself."""
        if all(lane.performance.is_over for lane in self._lanes):
            if not self._repeats:
                await self._set_playing(False)
                return
            await self._sleep_through(PAUSE / max(1.0, self._pace.times or FASTEST))
            if self._is_playing and not self._inbox:
                await self._begin((self._seed + 1) % 2**31)
            return
        if (seconds := self._pace.wait()) > 0:
            await self._sleep_through(seconds)
            if self._inbox:
                return
        began = time.monotonic()
        n = self._pace.steps(self._lanes[0].performance.fps)
        await self._advance(n)
        self._pace.took(n, time.monotonic() - began)

    async def _sleep_through(self, seconds: float) -> None:
        """Until then; a browser that has merely seen a picture does not end it."""
        end = time.monotonic() + seconds
        while not self._inbox and (left := end - time.monotonic()) > 0:
            await self._sleep(left)

    async def _advance(self, n: int, must_show: bool = False) -> None:
        running = [not lane.performance.is_over for lane in self._lanes]
        results = await asyncio.gather(*(lane.do(lambda performance: performance.advance(n)) for lane in self._lanes))
        for rows, new in zip(self._rows, results, strict=True):
            rows.extend(new)
        ended = [lane for lane, ran in zip(self._lanes, running, strict=True) if ran and lane.performance.is_over]
        await self._show(must_show or bool(ended))
        for lane in ended:
            await self._wire.point(lane.number, lane.performance.outcome(), "live")

    async def _show(self, must_show: bool = False) -> None:
        """Send what is new with a picture, unless the browser does not keep up."""
        if not (must_show or self._pace.may_send()):
            return
        pictures = await asyncio.gather(*(lane.do(lambda performance: performance.jpeg()) for lane in self._lanes))
        new = [list(rows) for rows in self._rows]
        for rows in self._rows:
            rows.clear()
        await self._wire.send_pictures(self._pace.sent(), self._episode, new, pictures)

    async def _tell(self) -> None:
        """The page's controls follow what the server does."""
        await self._wire.send(
            {
                "type": "state",
                "playing": self._is_playing,
                "seed": self._seed,
                "episode": self._episode,
                "order": [float(self._dials.desired_return), float(self._dials.desired_horizon)],
            }
        )

    async def _send_lines(self) -> None:
        programs = []
        for lane in self._lanes:
            show, path = lane.performance, self._agents.listed[lane.number].path
            programs.append(python_lines(lane.agent, path, self._env_id, show.draws, show.orders, show.seed))
        await self._wire.send({"type": "lines", "text": "\n".join(programs)})

    def recording(self, name: str) -> Any:
        """A finished recording of this session."""
        return self._jobs.recordings.get(name)

    def _close_lanes(self) -> None:
        for lane in self._lanes:
            lane.close()
        self._lanes = []
