"""A performance in a thread of its own, as the server's event loop sees it; two lanes are compared side by side."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from udrl.agent import Agent
from udrl.engines import EnvironmentFactory
from udrl.page.performance import Performance

T = TypeVar("T")


class Lane:
    """Everything that a performance does happens in one thread, and nobody waits for it but who asked."""

    def __init__(self, number: int, agent: Agent, environment: EnvironmentFactory | None, draws: bool = True) -> None:
        """`number` is the agent's in the server's list."""
        self.number, self.agent = number, agent
        self._environment, self._draws = environment, draws
        self._thread = ThreadPoolExecutor(1, "lane")
        self._performance: Performance | None = None
        self._is_closed = False

    async def __aenter__(self) -> "Lane":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def open(self) -> None:
        """Make the environment; a lane that cannot is closed."""

        def make() -> None:
            self._performance = Performance(self.agent, self._environment, self._draws)

        try:
            await self._call(make)
        except BaseException:
            self.close()
            raise

    @property
    def performance(self) -> Performance:
        """To read from; whatever changes it goes through `do`."""
        assert self._performance is not None
        return self._performance

    async def do(self, action: Callable[[Performance], T]) -> T:
        """Something that the performance does, in its thread."""
        return await self._call(lambda: action(self.performance))

    def close(self) -> None:
        """Free the environment, once its thread has done what it is doing."""
        if not self._is_closed:
            self._is_closed = True
            self._thread.submit(self._end)
            self._thread.shutdown(wait=False)

    def _end(self) -> None:
        if self._performance is not None:
            self._performance.close()

    async def _call(self, action: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)
