"""`VirtualLoop`: an asyncio event loop in which time passes only while nothing else is left to do.

A wait of an hour takes no time, and the same program does the same each time. The loop waits for what threads of anyio
do before it goes on. (`looptime` moves its clock meanwhile, so that each time limit around a thread passes.)
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from queue import Queue
from typing import Any, Final, TypeVar

from .network import Network

T = TypeVar("T")
ROUND: Final = 1e-5
"""Seconds that pass in each round, so that who asks again and again sees time pass."""
MOST_ROUNDS: Final = 500_000
LONGEST_THREAD: Final = 60.0
"""Real seconds that the work of a thread takes at most."""


class NothingLeft(RuntimeError):
    """Raised by a loop in which nothing will ever happen again: every task waits for another one."""


class _Selector(selectors.DefaultSelector):
    """A selector that never waits for time: it moves the loop's clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.rounds = 0.0, 0
        self.from_threads = deque[Callable[[], object]]()
        """What threads have to say to the loop: it hears them between its rounds, never in the middle of one."""
        self.at_round: Callable[[int], None] = lambda number: None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready. Raises `NothingLeft`."""
        self.rounds += 1
        self.now += ROUND
        if self.rounds > MOST_ROUNDS:
            raise NothingLeft(f"{MOST_ROUNDS:,} rounds have not ended it")
        self.at_round(self.rounds)
        _wait_for_threads()
        heard = len(self.from_threads)
        while self.from_threads:
            self.from_threads.popleft()()
        ready = super().select(0)
        if ready or heard or timeout == 0:
            return ready
        if timeout is None:
            raise NothingLeft
        self.now += timeout
        return []


def _wait_for_threads() -> None:
    """Wait for the work that was given to threads of anyio: it is done before the next round, however long it takes."""
    for thread in threading.enumerate():
        given = getattr(thread, "queue", None)
        until = time.monotonic() + LONGEST_THREAD
        while isinstance(given, Queue) and given.unfinished_tasks and thread.is_alive():
            thread.join(0.0001)
            if time.monotonic() > until:
                raise NothingLeft(f"the thread {thread.name} waits for the loop, which waits for it")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, and a network within it."""

    def __init__(self) -> None:
        self._moving = _Selector()
        super().__init__(self._moving)
        self.network = Network(self)
        self.failures: list[str] = []
        """What nobody has retrieved."""
        self._mine = threading.get_ident()
        self.set_exception_handler(lambda loop, context: self.failures.append(str(context)))

    def time(self) -> float:
        """Seconds since the loop began."""
        return self._moving.now

    @property
    def rounds(self) -> int:
        """How often the loop has looked for what is ready: each is a place where a program can be cut."""
        return self._moving.rounds

    def at_round(self, then: Callable[[int], None]) -> None:
        """Call this with the number of each round, before its callbacks."""
        self._moving.at_round = then

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        """Call it after this round; a thread that ends in its middle does not interleave with it."""
        if threading.get_ident() == self._mine:
            return self.call_soon(callback, *args, context=context)
        self._moving.from_threads.append(partial(self.call_soon, callback, *args, context=context))
        return None

    async def create_server(self, protocol_factory: Any, *args: Any, **given: Any) -> Any:
        """Serve within the loop's network."""
        return self.network.serve(protocol_factory)

    async def create_unix_connection(self, protocol_factory: Any, path: Any = None, **given: Any) -> Any:
        """Connect within the loop's network, whatever the path."""
        return await super().create_connection(protocol_factory, sock=await self.network.connect())

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Do it at once: no thread is needed where nobody waits for real time."""
        made: asyncio.Future[Any] = self.create_future()
        try:
            made.set_result(func(*args))
        except Exception as error:
            made.set_exception(error)
        return made


def run(main: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a program in a new loop, and close it. Fails if it leaves a task, or an error that nobody has seen."""
    loop = VirtualLoop()
    try:
        result = loop.run_until_complete(main(loop))
        assert not asyncio.all_tasks(loop), "tasks are left"
        assert not loop.failures
        return result
    finally:
        loop.network.close()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
