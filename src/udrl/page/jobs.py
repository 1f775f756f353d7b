"""What a session does in the background: episodes over the whole range, and videos of what was shown."""

import asyncio
import contextlib
import secrets
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from udrl.agent import Agent
from udrl.captions import Captions, Moment
from udrl.command import Command
from udrl.engines import EnvironmentFactory
from udrl.errors import TrainingError, UserError
from udrl.page.agents import Agents
from udrl.page.lane import Lane
from udrl.page.performance import Performance
from udrl.page.presets import spread_orders
from udrl.page.wire import Gone, Wire
from udrl.video import check_video, write_video

FILL_SEED = 1_000_000
"""Episodes in the background are others than those on the screen."""
STEPS_AT_A_TIME = 50
MOST_RECORDINGS = 10
MOST_FPS = 60.0
"""Pictures a second of a video: what an environment calls real time may be more than anyone sees."""


class Jobs:
    """At most one job of each kind at a time; all end with the session."""

    def __init__(self, agents: Agents, wire: Wire) -> None:
        self._agents, self._wire = agents, wire
        self._filling: asyncio.Task[None] | None = None
        self._recording: asyncio.Task[None] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="udrl-page-", ignore_cleanup_errors=True)
        self.recordings: dict[str, Path] = {}
        """Finished ones, by names that nobody guesses."""

    def fill(self, lanes: Sequence[Lane], episodes: int, horizon: float) -> None:
        """Episodes over the whole range with each of the agents; what was under way is stopped."""
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None
        if episodes and lanes:
            chosen = [(lane.number, lane.agent) for lane in lanes]
            self._filling = asyncio.create_task(self._reported(self._fill(chosen, episodes, horizon)))
        else:
            stopped = self._wire.send({"type": "filling", "done": 0, "of": 0})
            self._filling = asyncio.create_task(self._reported(stopped))

    async def _fill(self, chosen: Sequence[tuple[int, Agent]], episodes: int, horizon: float) -> None:
        done, total = 0, episodes * len(chosen)
        await self._wire.send({"type": "filling", "done": 0, "of": total})
        try:
            for number, agent in chosen:
                async with Lane(number, agent, self._agents.environment, draws=False) as lane:
                    for i, order in enumerate(spread_orders(agent, episodes, horizon)):
                        await lane.do(lambda show, order=order, seed=FILL_SEED + i: show.begin(order, seed))
                        while not lane.performance.is_over:
                            await lane.do(_advance_quietly)
                        done += 1
                        await self._wire.point(number, lane.performance.outcome(), "fill")
                        await self._wire.send({"type": "filling", "done": done, "of": total})
        except (UserError, TrainingError):
            await self._wire.send({"type": "filling", "done": 0, "of": 0})
            raise

    def record(self, lanes: Sequence[Lane], suffix: str) -> None:
        """A video of what the lanes have shown of this episode."""
        if self._recording is not None and not self._recording.done():
            raise UserError("A recording is being made: wait until it is done.")
        path = Path(self._folder.name) / f"episode-{len(self.recordings) + 1}.{suffix}"
        check_video(path)
        shows = [_Show(lane.agent, lane.performance) for lane in lanes]
        if not shows or not any(show.steps for show in shows):
            raise UserError("There is nothing to record yet: let the agent take a step.")
        if len(self.recordings) >= MOST_RECORDINGS:
            name, oldest = next(iter(self.recordings.items()))
            del self.recordings[name]
            oldest.unlink(missing_ok=True)
        self._recording = asyncio.create_task(self._reported(self._record(shows, path)))

    async def _record(self, shows: "Sequence[_Show]", path: Path) -> None:
        most = max(show.steps for show in shows)
        counter = _Counter()
        await self._wire.send({"type": "recording", "done": 0, "of": most + 1})
        writing = asyncio.create_task(asyncio.to_thread(_write, shows, self._agents.environment, path, counter))
        writing.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may end after its session
        try:
            while not (await asyncio.wait([writing], timeout=0.2))[0]:
                await self._wire.send({"type": "recording", "done": counter.n, "of": most + 1})
            writing.result()
        except BaseException:
            counter.is_stopped = True
            await self._wire.send({"type": "recording", "done": 0, "of": 0})
            raise
        name = secrets.token_urlsafe(16)
        self.recordings[name] = path
        await self._wire.send({"type": "recording", "done": most + 1, "of": most + 1, "name": name, "file": path.name})

    async def _reported(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            with contextlib.suppress(Gone):
                await job
        except (UserError, TrainingError) as error:
            await self._wire.problem(str(error))

    def close(self) -> None:
        for task in (self._filling, self._recording):
            if task is not None:
                task.cancel()
        self._folder.cleanup()


class _Counter:
    """Pictures written so far, and whether to go on."""

    def __init__(self) -> None:
        self.n, self.is_stopped = 0, False


class _Show:
    """What has to be played again."""

    def __init__(self, agent: Agent, performance: Performance) -> None:
        self.agent, self.seed, self.orders = agent, performance.seed, dict(performance.orders)
        self.steps = performance.live.t if performance.live else 0


def _advance_quietly(performance: Performance) -> None:
    for _ in range(STEPS_AT_A_TIME):
        if performance.is_over:
            return
        performance.step()
    time.sleep(0.0005)  # gives way to those who are watched


def _write(shows: Sequence[_Show], environment: EnvironmentFactory | None, path: Path, counter: _Counter) -> None:
    """Play the episodes again from their seeds and orders, every step of them, into a file."""
    performances = [Performance(show.agent, environment) for show in shows]
    try:
        films = [_film(show, performance) for show, performance in zip(shows, performances, strict=True)]
        write_video(path, _side_by_side(films, counter), min(performances[0].fps, MOST_FPS))
    finally:
        for performance in performances:
            performance.close()


def _film(show: _Show, performance: Performance) -> Iterator[np.ndarray]:
    """Captioned pictures of one agent."""
    orders = show.orders
    performance.begin(orders[0], show.seed)
    captions: Captions | None = None
    asked: Command = orders[0]
    for t in range(show.steps + 1):
        if t in orders:
            asked = orders[t]
            performance.order(float(asked.desired_return), float(asked.desired_horizon))
        picture, live = performance.picture(), performance.live
        assert live is not None
        height, width, _ = picture.shape
        captions = captions or Captions(height, width)
        yield captions.draw(Moment(picture, asked, live.command, live.obtained, t, live.is_over))
        if t < show.steps:
            performance.step()


def _side_by_side(films: Sequence[Iterator[np.ndarray]], counter: _Counter) -> Iterator[np.ndarray]:
    """One picture from those of all agents; who has ended earlier stays as it was."""
    last = [next(film) for film in films]
    height = max(len(picture) for picture in last)
    while True:
        if counter.is_stopped:
            raise UserError("The recording was stopped.")
        counter.n += 1
        yield np.concatenate([np.pad(one, ((0, height - len(one)), (0, 0), (0, 0))) for one in last], axis=1)
        following = [next(film, None) for film in films]
        if all(picture is None for picture in following):
            return
        last = [before if now is None else now for before, now in zip(last, following, strict=True)]
