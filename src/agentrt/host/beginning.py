"""What the log has of what an agent is told besides its task."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ..actors.veil import Veil
from ..context.resolving import Resolved
from ..events import Event
from ..protocols import Journal
from ..secrets import SecretRegistry


async def kept(told: Resolved, journal: Journal, secrets: SecretRegistry, cause: str) -> tuple[Event, ...]:
    """The event of it, none where it is nothing, after the texts of skills were kept beside the log.

    Raises `LogFailed`.
    """
    if not told.says_something:
        return ()
    event = replace(told.event, caused_by=cause)
    if told.texts:
        data = await Veil(secrets).data(msgspec.json.encode(told.texts))
        event = replace(event, texts=(await journal.keep(data, "skills", "application/json"),))
    return (event,)
