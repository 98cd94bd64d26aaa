"""The closed loop of `bench_event_log`: many conversations that each append one event after another to some log."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import harness
import msgspec
from event_log_sqlite import SqliteStore

from agentrt.errors import LogFailed
from agentrt.events import Event, MessageEvent
from agentrt.protocols import Committed
from agentrt.specs.content import text
from agentrt.storage import FileStore
from agentrt.storage.disk import sync_file_system
from agentrt.storage.framing import frame

LENGTHS = (200, 350, 550, 750)
"""Characters of the messages, in turn: as records they have between 400 bytes and 1 KB."""

EVENTS = 60_000
"""Events that are made beforehand; every conversation appends them from the first on."""

WARM = 0.2
"""Seconds before the measured ones; each conversation appends at least once in them, which makes its file."""

FEW = 8
"""Up to this many files the bare writer syncs one by one, as the runtime's does."""


class Appends(msgspec.Struct, frozen=True):
    """What appending for a while gave: seconds an event (latency and CPU of all threads), events a second.

    `fairness` is the most events that a conversation got by the fewest.
    """

    median: float
    p99: float
    cpu: float
    rate: float
    fairness: float


class Log(Protocol):
    """What the journals of all stores have in common."""

    def append(self, events: Sequence[Event], then: Committed) -> object:
        """Begin to write a batch; `then` is told on the event loop once it is durable."""
        ...


class Appender:
    """One conversation: appends the next event when the last is durable, until it is told to end."""

    def __init__(self, log: Log, events: Sequence[Event]) -> None:
        self._log, self._events = log, events
        self._next = 0
        self.times: list[float] = []

    def begin(self, until: float, ended: Callable[[LogFailed | None], None]) -> None:
        """Append from now on; `ended` is told once, with the first event that is durable after `until`."""
        self._until, self._ended = until, ended
        self.times = []
        self._append()

    def _append(self) -> None:
        self._begun = time.perf_counter()
        number, self._next = self._next, self._next + 1
        self._log.append((self._events[number],), self._durable)

    def _durable(self, error: LogFailed | None) -> None:
        now = time.perf_counter()
        self.times.append(now - self._begun)
        if error is None and now < self._until:
            self._append()
        else:
            self._ended(error)


async def append(appenders: Sequence[Appender], seconds: float) -> None:
    """Let all append for so long. Raises `LogFailed`."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(appenders)

    def ended(error: LogFailed | None) -> None:
        nonlocal left
        left -= 1
        if error is not None and not done.done():
            done.set_exception(error)
        elif left == 0 and not done.done():
            done.set_result(None)

    until = time.perf_counter() + seconds
    for appender in appenders:
        appender.begin(until, ended)
    await done


async def measure_logs(logs: Sequence[Log], seconds: float) -> Appends:
    """Append to each log for so long."""
    events = messages(EVENTS)
    appenders = [Appender(log, events) for log in logs]
    await append(appenders, min(WARM, seconds))
    begun, cpu = time.perf_counter(), time.process_time()
    await append(appenders, seconds)
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    times = [taken for appender in appenders for taken in appender.times]
    counts = [len(appender.times) for appender in appenders]
    return summed(times, cpu, wall, max(counts) / min(counts))


def messages(count: int) -> list[MessageEvent]:
    """Numbered messages; those of one length share their text."""
    contents = [text("x" * length) for length in LENGTHS]
    return [MessageEvent(seq=seq, source="user", content=contents[seq % len(contents)]) for seq in range(1, count + 1)]


def summed(times: Sequence[float], cpu: float, wall: float, fairness: float) -> Appends:
    """What so many appends took."""
    return Appends(
        median=harness.percentile(times, 50),
        p99=harness.percentile(times, 99),
        cpu=cpu / len(times),
        rate=len(times) / wall,
        fairness=fairness,
    )


async def _files(directory: Path, conversations: int, seconds: float) -> Appends:
    async with FileStore(directory / "store") as store:
        return await measure_logs([await store.create(f"c{n}") for n in range(conversations)], seconds)


async def _sqlite(directory: Path, conversations: int, seconds: float, group: int) -> Appends:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(SqliteStore(directory / "events.db", group))
        return await measure_logs([store.log(n) for n in range(conversations)], seconds)


def files(conversations: int, seconds: float) -> Appends:
    """The runtime's own store, through its journals."""
    with harness.workplace() as directory:
        return asyncio.run(_files(directory, conversations, seconds))


def sqlite(conversations: int, seconds: float, group: int) -> Appends:
    """One SQLite database, with up to `group` events in a transaction."""
    with harness.workplace() as directory:
        return asyncio.run(_sqlite(directory, conversations, seconds, group))


def bare(conversations: int, seconds: float) -> Appends:
    """The floor: a thread that writes a line to each file and syncs, again and again; nobody waits for it."""
    lines = [line for event in messages(len(LENGTHS)) for line in frame((event,), durable=0)]
    times: list[float] = []
    with harness.workplace() as directory:
        descriptors = []
        for number in range(conversations):
            (directory / str(number)).mkdir()
            path = directory / str(number) / "events.jsonl"
            descriptors.append(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC))
        sync_file_system(descriptors[0])
        begun, cpu, rounds = time.perf_counter(), time.process_time(), 0
        while (now := time.perf_counter()) - begun < seconds:
            line, rounds = lines[rounds % len(lines)], rounds + 1
            for descriptor in descriptors:
                os.write(descriptor, line)
            if conversations > FEW:
                sync_file_system(descriptors[0])
            else:
                for descriptor in descriptors:
                    os.fdatasync(descriptor)
            times.append(time.perf_counter() - now)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        for descriptor in descriptors:
            os.close(descriptor)
    one = summed(times, cpu, wall, 1.0)
    return msgspec.structs.replace(one, cpu=one.cpu / conversations, rate=one.rate * conversations)
