"""Commits that are awaited, for tests that do nothing meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentrt.errors import LogFailed
from agentrt.events import Event
from agentrt.protocols import Committed, Journal
from agentrt.state import fold
from agentrt.storage import FileStore
from agentrt.storage.journal import FileJournal
from agentrt.storage.writer import LogFile, Writer


async def append(journal: Journal, events: Sequence[Event]) -> None:
    """Append a batch; durable when this returns. Raises `LogFailed`."""
    ended, then = _outcome()
    journal.append(events, then)
    await ended


async def commit(writer: Writer, file: LogFile, data: bytes) -> None:
    """Append bytes; durable when this returns. Raises `LogFailed`."""
    ended, then = _outcome()
    writer.commit(file, data, file.written + 1, then)
    await ended


def _outcome() -> tuple[asyncio.Future[None], Committed]:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def then(error: LogFailed | None) -> None:
        if ended.done():
            return  # nobody waits any more
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    return ended, then


async def reopen(store: FileStore, name: str) -> tuple[FileJournal, list[Event]]:
    """A journal and all of its events; what it gives to the fold must be their outlines."""
    outlines: list[Event] = []
    journal = await store.open(name, outlines.append)
    events = [event async for event in journal.read(0, 1 << 60)]
    assert [(type(event), event.id, event.seq) for event in outlines] == [(type(e), e.id, e.seq) for e in events]
    assert fold(outlines) == fold(events)
    return journal, events
