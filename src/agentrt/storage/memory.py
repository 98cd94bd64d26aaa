"""`MemoryStorage`: conversations in memory, for tests and for data that need not outlive the process."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Self

from ..errors import ConversationExists, ConversationMissing, EventRefused, LogLocked, VersionConflict
from ..events import Event
from ..listing import Filter, Hit, Mark, Row
from ..scratch import runtime_directory
from ..snapshot import snapshot
from ..specs import Durability
from ..state import State
from ..storing import Listing, Live, Progress, Shelf, Within
from .finding import found_in, pattern_of
from .memory_log import Log, MemoryHistory, MemoryJournal
from .names import checked_id

_numbers = itertools.count(1)


class MemoryListing(Listing):
    """A `Listing` of logs in memory; a search reads them all."""

    def __init__(self, logs: dict[str, Log]) -> None:
        self._logs = logs

    async def page(
        self,
        limit: int = 20,
        after: Mark | None = None,
        wanted: Filter = Filter(),
        live: Live = lambda name: None,
    ) -> list[Row]:
        rows = [row for row in self._rows(live) if wanted.fits(row)]
        if after is not None:
            rows = [row for row in rows if (row.updated, row.id) < (after.updated, after.id)]
        return rows[:limit]

    async def count(self, wanted: Filter | None = None, live: Live = lambda name: None) -> int:
        return sum((wanted or Filter()).fits(row) for row in self._rows(live))

    async def search(
        self,
        words: str,
        limit: int = 20,
        *,
        newest: bool = False,
        owner: str | None = None,
        workspace: str | None = None,
        within: Within | None = None,
        progress: Progress = lambda done, of: None,
    ) -> list[Hit]:
        pattern = pattern_of(words)
        rows = [row.id for row in self._rows(lambda name: None) if owner is None or row.owner == owner]
        if within is not None or workspace is not None:
            made = {name: await MemoryHistory(self._logs, name).created() for name in rows}
            there = (name for name, one in made.items() if workspace in (None, one.workspace.path))
            rows = [name for name in there if within is None or within(made[name])]
        logs = {name: self._logs[name] for name in rows}
        hits = [hit for name, log in logs.items() for hit in found_in(name, log.decoded(log.shared), pattern)]
        if not newest:
            hits.sort(key=lambda hit: len(hit.matches), reverse=True)
        return hits[:limit]

    def _rows(self, live: Live) -> list[Row]:
        rows = [log.row(live(name)) for name, log in self._logs.items() if log.begun]
        return sorted(rows, key=lambda row: (row.updated, row.id), reverse=True)


class MemoryShelf(Shelf):
    """A `Shelf` in memory."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], tuple[bytes, int]] = {}
        self._versions = itertools.count(1)

    async def get(self, kind: str, name: str) -> tuple[bytes, int] | None:
        return self._documents.get((kind, name))

    async def put(self, kind: str, name: str, data: bytes, version: int) -> int:
        if self._documents.get((kind, name), (b"", 0))[1] != version:
            raise VersionConflict(name)
        self._documents[kind, name] = data, (made := next(self._versions))
        return made

    async def delete(self, kind: str, name: str) -> None:
        self._documents.pop((kind, name), None)

    async def names(self, kind: str) -> list[str]:
        return sorted(name for of, name in self._documents if of == kind)

    def copy(self) -> MemoryShelf:
        """Return another shelf with the same documents."""
        copy = MemoryShelf()
        copy._documents.update(self._documents)
        copy._versions = itertools.count(next(self._versions))
        return copy

    def where(self, kind: str, name: str) -> str:
        return f"{kind} {name!r} in memory"


class _Beside:
    """A temporary directory, created on demand, and deleted with the last reference to this object."""

    @cached_property
    def path(self) -> str:
        made = runtime_directory.directory("beside-")
        weakref.finalize(self, runtime_directory.remove, made)
        return made


class MemoryStorage:
    """A `Storage` in memory: `Runtime(store="memory://")` has its own.

    Nothing is written to disk. Acknowledged events stay, in order, as long as this object, which may be passed to one
    runtime after another; everything is lost when the process ends.
    """

    durability = Durability.COMMIT
    """Acknowledged events are never lost while the storage exists."""
    waiting = 0
    places = ()

    def __init__(self) -> None:
        self.address = f"memory://{next(_numbers)}"
        self._logs: dict[str, Log] = {}
        self._entered, self._beside = 0, _Beside()
        self.listing, self.shelf = MemoryListing(self._logs), MemoryShelf()

    async def __aenter__(self) -> Self:
        self._entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered:
            for name in [name for name, log in self._logs.items() if log.writer is not None]:
                await self.release(name)

    def copy(self) -> MemoryStorage:
        """Return another storage with the same conversations, none of them open, and the same documents: the content
        that a disk has after a crash.
        """
        copy = MemoryStorage()
        copy._beside, copy.shelf = self._beside, self.shelf.copy()
        copy._logs.update((name, log.copy()) for name, log in self._logs.items() if log.begun)
        return copy

    async def create(self, conversation_id: str) -> MemoryJournal:
        if checked_id(conversation_id) in self._logs:
            raise ConversationExists(conversation_id)
        return self._held(Log(conversation_id))

    async def open(
        self, conversation_id: str, replay: Callable[[Event], None], recall: Callable[[State], None] | None = None
    ) -> MemoryJournal:
        log = self._there(conversation_id)
        if recall is not None:
            recall(log.state())
        else:
            for event in log.decoded(0):
                replay(event)
        return self._held(log)

    async def fork(self, parent: str, conversation_id: str, at: int, replay: Callable[[Event], None]) -> MemoryJournal:
        origin = self._logs.get(checked_id(parent))
        if origin is None or not origin.begun:
            raise ConversationMissing(parent)
        if checked_id(conversation_id) in self._logs:
            raise ConversationExists(conversation_id)
        if len(origin.events) < at:
            raise EventRefused(f"no event {at} to fork from: there are {len(origin.events)}")
        for event in origin.decoded(0, at):
            replay(event)
        return self._held(Log(conversation_id, origin.events[:at], origin.blobs))

    async def probe(self) -> None:
        return

    async def release(self, conversation_id: str, state: State | None = None) -> None:
        log = self._logs.get(conversation_id)
        if log is None or log.writer is None:
            return
        await log.writer.release()
        log.writer = None
        if state is not None:
            log.snapshot = snapshot(state)
        if not log.begun:
            self._logs.pop(conversation_id, None)

    async def delete(self, conversation_id: str) -> None:
        del self._logs[self._there(conversation_id).name]

    def history(self, conversation_id: str) -> MemoryHistory:
        return MemoryHistory(self._logs, checked_id(conversation_id))

    def beside(self, conversation_id: str) -> str:
        return os.path.join(self._beside.path, checked_id(conversation_id))

    def where(self, conversation_id: str) -> str:
        return f"{checked_id(conversation_id)} in memory"

    def _there(self, conversation_id: str) -> Log:
        """Return the log of a conversation that is not open. Raises `ConversationMissing` or `LogLocked`."""
        log = self._logs.get(checked_id(conversation_id))
        if log is None or not log.begun:
            if log is not None and log.writer is not None:
                raise LogLocked(conversation_id)
            raise ConversationMissing(conversation_id)
        if log.writer is not None:
            raise LogLocked(conversation_id)
        return log

    def _held(self, log: Log) -> MemoryJournal:
        self._logs[log.name] = log
        log.writer = journal = MemoryJournal(log)
        return journal
