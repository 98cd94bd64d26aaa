"""Commits that are awaited, for tests that do nothing meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentrt.errors import LogFailed
from agentrt.events import Event
from agentrt.protocols import Committed, Journal
from agentrt.storage.writer import LogFile, Writer


async def append(journal: Journal, events: Sequence[Event]) -> None:
    """Append a batch; durable when this returns. Raises `LogFailed`."""
    ended, then = _outcome()
    journal.append(events, then)
    await ended


async def commit(writer: Writer, file: LogFile, data: bytes) -> None:
    """Append bytes; durable when this returns. Raises `LogFailed`."""
    ended, then = _outcome()
    writer.commit(file, data, then)
    await ended


def _outcome() -> tuple[asyncio.Future[None], Committed]:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def then(error: LogFailed | None) -> None:
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    return ended, then
