"""`SimulatedStorage`: logs that are durable some time after they were written, and of which a crash takes the rest."""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random
from typing import Self

import anyio

from agentrt.codec import encode
from agentrt.errors import LogFailed
from agentrt.events import Event
from agentrt.specs import BlobReference, Durability
from agentrt.specs.content import TEXT
from agentrt.state import State
from agentrt.storage import MemoryStorage
from agentrt.storing import Committed, History, Journal, Listing, Shelf, Storage

SLOWEST = 0.03
"""Seconds that a commit takes at most."""


class SimulatedDisk:
    """What all logs of a machine share: how long a commit takes, whether there is space, whether it has crashed."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.full = self.crashed = False
        self.commits = 0
        """How many batches were committed."""

    def delay(self) -> float:
        """Draw the seconds of a commit, or of the way back of its acknowledgement."""
        return self.chance.choice((0.0, 0.0, 0.001, self.chance.uniform(0.0, SLOWEST)))


class SimulatedJournal(Journal):
    """A journal whose batches are committed one by one, each after a delay, and acknowledged after another one."""

    def __init__(self, name: str, held: Journal, disk: SimulatedDisk) -> None:
        self._name, self._held, self._disk = name, held, disk
        self._waiting: deque[tuple[Sequence[Event], Committed]] = deque()
        self._told: deque[tuple[Committed, LogFailed | None]] = deque()
        self._open = 0
        """Batches that were given and not acknowledged yet."""
        self._failed = self._committing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._last = 0.0

    @property
    def size(self) -> int:
        return self._held.size

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        self._open += 1
        self._idle.clear()
        self._waiting.append((events, then))
        self._go_on()
        return [encode(event) for event in events]

    def _go_on(self) -> None:
        if self._waiting and not self._committing:
            self._committing = True
            asyncio.get_running_loop().call_later(self._disk.delay(), self._commit)

    def _commit(self) -> None:
        self._committing = False
        events, then = self._waiting.popleft()
        if self._disk.crashed:  # whatever still runs is told what lets it end
            self._soon(then, None)
        elif self._failed or self._disk.full:
            self._failed = True
            self._soon(then, LogFailed(self._name, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        else:
            self._disk.commits += 1
            self._held.append(events, lambda error: self._soon(then, error))
        self._go_on()

    def _soon(self, then: Committed, error: LogFailed | None) -> None:
        self._told.append((then, error))
        loop = asyncio.get_running_loop()
        self._last = max(self._last, loop.time() + self._disk.delay())
        loop.call_at(self._last, self._acknowledge)

    def _acknowledge(self) -> None:
        then, error = self._told.popleft()  # in order, also of those that are due at the same time
        self._open -= 1
        if not self._open:
            self._idle.set()
        then(error)

    def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        return self._held.read(after, upto)

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        return await self._held.load(seqs)

    def remember(self, state: State) -> None:
        self._held.remember(state)

    async def sync(self) -> None:
        await self._idle.wait()
        if self._failed:
            raise LogFailed(self._name, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    async def settle(self) -> None:
        """Wait until all was acknowledged, or has failed."""
        await self._idle.wait()

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        return await self._held.keep(data, name, media_type)

    async def fetch(self, blob: BlobReference) -> bytes:
        return await self._held.fetch(blob)


class SimulatedStorage(Storage):
    """A storage in memory on a simulated disk. After `crash`, nothing that is done with it has an effect."""

    durability = Durability.COMMIT
    places = ()
    waiting = 0

    def __init__(self, chance: Random, held: MemoryStorage | None = None) -> None:
        self._held = held or MemoryStorage()
        self.disk = SimulatedDisk(chance)
        self._open: dict[str, SimulatedJournal] = {}
        self._left = self._held

    @property
    def address(self) -> str:
        return self._held.address

    @property
    def listing(self) -> Listing:
        return self._held.listing

    @property
    def shelf(self) -> Shelf:
        return self._held.shelf

    def crash(self) -> None:
        """Lose what is not durable, now."""
        if not self.disk.crashed:
            self.disk.crashed = True
            self._left = self._held.copy()

    def after_crash(self, chance: Random) -> SimulatedStorage:
        """Return the storage that the next process finds."""
        assert self.disk.crashed
        return SimulatedStorage(chance, self._left)

    async def log(self, conversation_id: str) -> list[Event]:
        """Return the events of a conversation."""
        return [event async for event in self._held.history(conversation_id).read()]

    async def __aenter__(self) -> Self:
        await self._held.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self._open):
            await self.release(name)
        await self._held.__aexit__()

    async def create(self, conversation_id: str) -> SimulatedJournal:
        return self._kept(conversation_id, await self._held.create(conversation_id))

    async def open(
        self, conversation_id: str, replay: Callable[[Event], None], recall: Callable[[State], None] | None = None
    ) -> SimulatedJournal:
        return self._kept(conversation_id, await self._held.open(conversation_id, replay, recall))

    async def fork(
        self, parent: str, conversation_id: str, at: int, replay: Callable[[Event], None]
    ) -> SimulatedJournal:
        return self._kept(conversation_id, await self._held.fork(parent, conversation_id, at, replay))

    def _kept(self, name: str, journal: Journal) -> SimulatedJournal:
        self._open[name] = made = SimulatedJournal(name, journal, self.disk)
        return made

    async def probe(self) -> None:
        if self.disk.full:
            raise LogFailed("the store", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    async def release(self, conversation_id: str, state: State | None = None) -> None:
        with anyio.CancelScope(shield=True):  # as the real one, which ends what it has begun
            if (journal := self._open.pop(conversation_id, None)) is not None:
                await journal.settle()
            await self._held.release(conversation_id, state)

    async def delete(self, conversation_id: str) -> None:
        await self._held.delete(conversation_id)

    def history(self, conversation_id: str) -> History:
        return self._held.history(conversation_id)

    def beside(self, conversation_id: str) -> str:
        return self._held.beside(conversation_id)

    def where(self, conversation_id: str) -> str:
        return self._held.where(conversation_id)
