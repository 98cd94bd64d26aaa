"""The event that logs an agent's resolved context: what it is told besides its task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from ..actors.veil import Veil
from ..context.resolving import Resolved
from ..events import Event
from ..protocols import Journal
from ..secrets import SecretRegistry
from ..specs import BlobReference

Keep: TypeAlias = Callable[[bytes, str, str], Awaitable[BlobReference]]
"""Stores bytes with a name and a media type beside the log, with secrets masked."""


def keeping(journal: Journal, secrets: SecretRegistry) -> Keep:
    """Return a function that stores bytes beside a log whose conversation is not open yet."""

    async def keep(data: bytes, name: str, media_type: str) -> BlobReference:
        return await journal.keep(await Veil(secrets).data(data), name, media_type)

    return keep


async def kept(told: Resolved, keep: Keep, cause: str) -> tuple[Event, ...]:
    """Store the texts of skills beside the log, and return the event of a context; nothing if it says nothing.

    Raise `LogFailed`.
    """
    if not told.says_something:
        return ()
    event = replace(told.event, caused_by=cause)
    if told.texts:
        blob = await keep(msgspec.json.encode(told.texts), "skills", "application/json")
        event = replace(event, texts=(*event.texts, blob))
    return (event,)
