"""`loop_portal`: the event loop of all blocking conversations of a process, in a thread of its own."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal

_lock = threading.Lock()
_portals: list[BlockingPortal] = []
_ends: set[anyio.Event] = set()
"""One for each open conversation: set when the program ends."""


SPARE = 8
"""Threads that wait for the end of the program, and then serve what leaving the conversations asks of threads: since
Python 3.12 none can be started any more.
"""


def loop_portal() -> BlockingPortal:
    """Return the way into the event loop, which is started at the first call.

    The loop ends with the program: once the main thread has ended, all conversations are left, as their logs ask for.
    """
    with _lock:
        if not _portals:
            started = Future[BlockingPortal]()
            threading.Thread(target=_run_loop, args=(started,), name="agentrt").start()
            _portals.append(started.result())
        return _portals[0]


def end_with_program() -> anyio.Event:
    """Return an event that is set when the program ends. In the loop."""
    end = anyio.Event()
    _ends.add(end)
    return end


def forget_end(end: anyio.Event) -> None:
    """Forget an event of `end_with_program`, whose conversation was left. In the loop."""
    _ends.discard(end)


def _run_loop(started: Future[BlockingPortal]) -> None:
    left = list[bool]()
    try:
        anyio.run(_serve, started, left)
    except BaseException as error:
        if not started.done():
            started.set_exception(error)
        elif not (left and isinstance(error, RuntimeError)):  # else asyncio wants a thread to end its own threads
            raise


async def _until_the_end(limiter: anyio.CapacityLimiter) -> None:
    await anyio.to_thread.run_sync(threading.main_thread().join, limiter=limiter)


async def _serve(started: Future[BlockingPortal], left: list[bool]) -> None:
    limiter = anyio.CapacityLimiter(SPARE)
    async with BlockingPortal() as portal:
        started.set_result(portal)
        async with anyio.create_task_group() as tasks:
            for _ in range(SPARE):
                tasks.start_soon(_until_the_end, limiter)
        for end in tuple(_ends):
            end.set()
    left.append(True)
