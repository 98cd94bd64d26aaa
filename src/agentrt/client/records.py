"""`RemoteRecords`: a log that is read from its server, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from ..codec import decode
from ..events import SCHEMA_VERSION, Event
from .transport import Transport, path_of

PAGE = 200
"""Number of events that are requested at once."""


class _Page(msgspec.Struct, frozen=True):
    """A part of a log."""

    items: tuple[msgspec.Raw, ...]


_pages = msgspec.json.Decoder(_Page)


def event_of(record: bytes) -> Event:
    """Return the event of a received record, which names no version. Raises `msgspec.DecodeError`."""
    return decode(record, SCHEMA_VERSION)


class RemoteRecords:
    """The events of a conversation that are not in memory here. Raises the errors of `Transport.ask`, and an error if
    the server's log has another epoch.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self._name = transport, name
        self.epoch = 0
        """The epoch of the events that were received."""

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """Return the events after seq `after`, up to `upto`."""
        while after < upto:
            page = await self._page(after, min(PAGE, upto - after))
            if not page.items:
                return
            for record in page.items:
                event = event_of(bytes(record))
                if event.seq > upto:
                    return
                after = event.seq
                yield event

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        """Return the events with these seqs, which must be ascending."""
        if seqs and seqs[-1] - seqs[0] == len(seqs) - 1:
            return [event async for event in self.read(seqs[0] - 1, seqs[-1])]
        return [event_of(bytes((await self._page(seq - 1, 1)).items[0])) for seq in seqs]

    async def _page(self, after: int, limit: int) -> _Page:
        path = f"{path_of(self._name)}/events?after={after}&epoch={self.epoch}&limit={limit}"
        return _pages.decode(await self._transport.ask("GET", path, name=self._name))
