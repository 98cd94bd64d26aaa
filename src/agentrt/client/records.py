"""`RemoteRecords`: a log as its server gives it out, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from ..codec import decode
from ..events import SCHEMA_VERSION, Event
from .transport import Transport, path_of

PAGE = 200
"""Events that are asked for at once."""


class _Page(msgspec.Struct, frozen=True):
    """A part of a log."""

    items: tuple[msgspec.Raw, ...]


_pages = msgspec.json.Decoder(_Page)


def event_of(record: bytes) -> Event:
    """The event of a record as it goes over the wire, where it names no version. Raises `msgspec.DecodeError`."""
    return decode(record, SCHEMA_VERSION)


class RemoteRecords:
    """The events of a conversation that are not in memory here; raises as `Transport.ask` does, and for a server's
    log that is of another epoch.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self._name = transport, name
        self.epoch = 0
        """That of the events that were seen."""

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """The events after seq `after`, up to `upto`."""
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
        """The events with these seqs, which rise."""
        if seqs and seqs[-1] - seqs[0] == len(seqs) - 1:
            return [event async for event in self.read(seqs[0] - 1, seqs[-1])]
        return [event_of(bytes((await self._page(seq - 1, 1)).items[0])) for seq in seqs]

    async def _page(self, after: int, limit: int) -> _Page:
        path = f"{path_of(self._name)}/events?after={after}&epoch={self.epoch}&limit={limit}"
        return _pages.decode(await self._transport.ask("GET", path, name=self._name))
