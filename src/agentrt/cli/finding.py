"""Finds the conversation, and the place in it, that a person names."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import click
import msgspec

from ..codec import decode
from ..conversation import Conversation
from ..errors import ConfigurationError, ConversationMissing, LogCorrupt
from ..events import Cursor, Event
from ..listing import Filter, Mark
from ..runtime import Runtime
from ..state import fold, seq_of
from ..storage import FileHistory, default_store, open_storage
from ..storage.checking import directory_of, is_log
from ..storing import SCANNED, Gap, History, Storage, Wanted
from ..tools import ToolType


def place(given: str) -> Cursor:
    """Return the place in a log that "SEQ" or "EPOCH-SEQ" names. Raises `click.BadParameter`."""
    if not re.fullmatch(r"([0-9]+-)?0*[1-9][0-9]*", given):
        raise click.BadParameter(f"{given!r} is not an event: give SEQ, or EPOCH-SEQ where the log is not of epoch 0")
    return Cursor.parse(given)


class Found(msgspec.Struct, frozen=True):
    """A conversation: its id, the storage that holds it, and its directory if one was named."""

    id: str
    store: Path | str
    named: Path | None = None

    @property
    def directory(self) -> Path:
        """Return the directory of its files. Raises `ConfigurationError` if they are not in a directory."""
        return self.named or directory_of(self.store, self.id)

    @asynccontextmanager
    async def history(self) -> AsyncIterator[History]:
        """Return its log, for reading."""
        if self.named is not None:
            yield FileHistory(self.named)
            return
        async with open_storage(self.store, lazy=True) as storage:
            yield storage.history(self.id)

    def events(self, upto: int | None = None) -> list[Event]:
        """Return all of its events, or those up to a seq. Raises `ConversationMissing` or `LogCorrupt`."""

        async def read() -> list[Event]:
            async with self.history() as history:
                return [event async for event in history.read(0, upto)]

        return anyio.run(read)

    def intact(self) -> list[Event | Gap]:
        """Return the intact events of a damaged log, and the gaps between them, in order."""

        async def read() -> list[Event | Gap]:
            items: list[tuple[int, Event | Gap]] = []
            async with self.history() as history:
                after: int | None = 0
                while after is not None:
                    page = await history.page(Wanted(after, 1 << 62), SCANNED)
                    events = map(decode, map(bytes, page.events))
                    items += ((event.seq, event) for event in events)
                    items += ((gap.after, gap) for gap in page.gaps if gap.after >= after)
                    after = page.next
            return [item for _, item in sorted(items, key=lambda item: (item[0], isinstance(item[1], Gap)))]

        return anyio.run(read)

    def events_at(self, at: Cursor) -> list[Event]:
        """Return its events up to a place; what comes after that may be damaged.

        Raises the same errors as `events`, or `CursorExpired` if there is no such place.
        """
        try:
            events = self.events()
        except LogCorrupt:
            events = self.events(at.seq)
        return events[: seq_of(at, fold(events))]


def find(name: str | None, store: str | None) -> Found:
    """Return a conversation by its id, a unique part of the id, or its path; without a name, the newest.

    Raises `ConversationMissing`, or `ConfigurationError` if several match.
    """
    if name is not None and is_log(Path(name)):
        whole = Path(name).absolute()
        return Found(whole.name, whole.parent.parent, Path(name))
    where = store or default_store()

    async def found() -> Found:
        async with open_storage(where, lazy=True) as storage:
            return Found(await _id_of(name, storage), where)

    return anyio.run(found)


def newest_in(workspace: Path, store: str | None) -> Found:
    """Return the newest conversation in a workspace. Raises `ConversationMissing`."""
    where, here = store or default_store(), {str(workspace.absolute()), os.path.realpath(workspace)}

    async def found() -> Found:
        async with open_storage(where, lazy=True) as storage:
            after: Mark | None = None
            while rows := await storage.listing.page(100, after):
                for row in rows:
                    if row.delegated_by is None and row.workspace in here:
                        return Found(row.id, where)
                after = rows[-1].mark
        raise ConversationMissing("(none yet in this workspace)")

    return anyio.run(found)


async def _id_of(name: str | None, storage: Storage) -> str:
    if name is None:
        after: Mark | None = None
        while rows := await storage.listing.page(100, after):
            if (newest := next((row for row in rows if row.delegated_by is None), None)) is not None:
                return newest.id
            after = rows[-1].mark
        raise ConversationMissing("(none yet)")
    with suppress(ConfigurationError, ConversationMissing, LogCorrupt):  # no id, only a part of one, or damaged
        await storage.history(name).created()
        return name
    found = [row.id for row in await storage.listing.page(1 << 30, None, Filter(query=name)) if name in row.id]
    exact = [each for each in found if each == name]
    if not found:
        raise ConversationMissing(name)
    if len(exact or found) > 1:
        some = ", ".join(sorted(found)[:3])
        raise ConfigurationError(f"{name!r} matches {len(found)} conversations, such as {some}: give more of the id")
    return (exact or found)[0]


@asynccontextmanager
async def reopened(
    found: Found, runtime: Runtime | None = None, tools: Sequence[ToolType] = ()
) -> AsyncIterator[Conversation]:
    """Return a conversation, opened. Raises `LogLocked` while it is open elsewhere, or another `LogError`."""
    store = found.store if runtime is None else None
    async with Conversation(id=found.id, tools=tools, runtime=runtime, store=store) as live:
        yield live
