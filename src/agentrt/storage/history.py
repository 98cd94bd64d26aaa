"""`FileHistory`: the log of one conversation for readers, without its lock; `FileListing`: the list of a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import anyio.to_thread
from msgspec.structs import replace

from ..errors import ConversationMissing, LogCorrupt
from ..events import ConversationCreated, Event
from ..listing import Filter, Hit, Mark, Row, from_micros
from ..snapshot import Snapshot
from ..state import State
from ..storing import History, LastWord, Listing, Live, Page, Progress, Tally, Wanted, Within
from .blobs import BLOBS, find_blob
from .catalogue import Catalogue
from .endings import last_word
from .journal import FileJournal
from .pages import count_events, parts_of, read_created, read_page, read_state
from .reading import EVENTS, PAGE, Part, load, load_json
from .rows import read_task
from .salvaging import salvaged_count, salvaged_page
from .snapshots import read_snapshot

P = ParamSpec("P")
R = TypeVar("R")


class FileHistory(History):
    """A `History` of the log in a directory; `journal` is its writer's journal, if it is open in this process.

    The positions of the records are found by the first read that needs them, and kept.
    """

    def __init__(self, directory: Path, journal: FileJournal | None = None) -> None:
        self._directory, self._journal = directory, journal
        self._parts: Sequence[Part] | None = None

    async def created(self) -> ConversationCreated:
        return await self._do(read_created, self._directory)

    async def last(self) -> int:
        if self._journal is not None:
            return self._journal.seen
        return (await self._located())[-1].last

    async def read(self, after: int = 0, upto: int | None = None) -> AsyncIterator[Event]:
        damage: LogCorrupt | None = None
        try:
            parts = await self._located(upto)
        except LogCorrupt as corrupt:
            if not corrupt.after:
                raise
            damage, upto = corrupt, corrupt.after
            parts = await self._located(upto)
        last = parts[-1].last if self._journal is None else self._journal.seen
        last = last if upto is None else min(last, upto)
        for first in range(after + 1, last + 1, PAGE):
            for event in await self._do(load, parts, range(first, min(first + PAGE, last + 1))):
                yield event
        if damage is not None:
            raise damage

    async def load_json(self, after: int, upto: int) -> Sequence[bytes]:
        return await self._do(load_json, await self._located(upto), range(after + 1, upto + 1))

    async def page(self, wanted: Wanted, limit: int) -> Page:
        wanted = self._acknowledged(wanted)
        try:
            return await self._do(read_page, await self._located(), wanted, limit)
        except LogCorrupt:
            return await self._do(salvaged_page, self._directory, wanted, limit)

    async def count(self, wanted: Wanted) -> Tally:
        wanted = self._acknowledged(wanted)
        try:
            return await self._do(count_events, await self._located(), wanted)
        except LogCorrupt:
            return await self._do(salvaged_count, self._directory, wanted)

    async def event(self, seq: int) -> bytes | None:
        page = await self.page(Wanted(seq - 1, seq + 1), 1) if seq > 0 else Page((), None)
        return bytes(page.events[0]) if page.events else None

    async def state(self, at: int | None = None) -> State:
        return await self._do(read_state, self._directory, at)

    async def last_word(self) -> LastWord | None:
        return await self._do(last_word, self._directory)

    async def task(self) -> str:
        return await self._do(read_task, self._directory)

    async def updated(self) -> datetime:
        found = await self._do((self._directory / EVENTS).stat)
        return from_micros(found.st_mtime_ns // 1000)

    async def snapshot(self) -> Snapshot | None:
        return await self._do(read_snapshot, self._directory)

    async def fetch(self, sha256: str) -> bytes | None:
        if len(sha256) != 64 or not all(digit in "0123456789abcdef" for digit in sha256):
            return None
        try:
            parts = await self._located()
        except LogCorrupt as corrupt:
            parts = await self._located(corrupt.after or 0)
        directories = [part.path.parent / BLOBS for part in parts]
        return await self._do(_blob, directories, sha256)

    def _acknowledged(self, wanted: Wanted) -> Wanted:
        if self._journal is None or wanted.before <= self._journal.seen + 1:
            return wanted
        return replace(wanted, before=self._journal.seen + 1)

    async def _located(self, upto: int | None = None) -> Sequence[Part]:
        """Return the positions of the records, up to a seq."""
        if self._journal is not None:
            return self._journal.parts
        if self._parts is not None:
            return self._parts
        parts = await self._do(parts_of, self._directory, upto)
        if upto is None:
            self._parts = parts
        return parts

    async def _do(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of a blocking function. Raises `ConversationMissing` if the file no longer exists."""
        try:
            return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))
        except FileNotFoundError as error:
            raise ConversationMissing(self._directory.name) from error


def _blob(directories: Sequence[Path], sha256: str) -> bytes | None:
    if not any((directory / sha256).is_file() for directory in directories):
        return None
    return find_blob(directories, sha256)


class FileListing(Listing):
    """A `Listing` that reads the catalogue of a store, in threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def page(
        self,
        limit: int = 20,
        after: Mark | None = None,
        wanted: Filter = Filter(),
        live: Live = lambda name: None,
    ) -> list[Row]:
        return await anyio.to_thread.run_sync(self._catalogue.page, limit, after, wanted, live)

    async def count(self, wanted: Filter | None = None, live: Live = lambda name: None) -> int:
        return await anyio.to_thread.run_sync(self._catalogue.count, wanted, live)

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
        search = partial(
            self._catalogue.search,
            words,
            limit,
            newest=newest,
            owner=owner,
            workspace=workspace,
            within=within,
            progress=progress,
        )
        return await anyio.to_thread.run_sync(search)
