"""`Mirror`: a conversation as it came over a socket: its events once and in order, its state, its deltas."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..actors.feed import Feed
from ..deltas import Delta
from ..errors import CursorExpired
from ..events import Cursor, Event
from ..frames import DeltaFrame, EventFrame, FromServer, Live
from ..state import State, apply
from .records import RemoteRecords, event_of

_deltas = msgspec.json.Decoder(Delta)


class Gap(Exception):
    """Raised when events are missing before one that came."""


class Mirror:
    """The fold of the events that came, published to those who follow them here."""

    def __init__(self, records: RemoteRecords) -> None:
        self.feed, self._records = Feed(records, State()), records

    @property
    def cursor(self) -> Cursor:
        """After which more is wanted."""
        return self.feed.cursor()

    def take(self, frames: Sequence[FromServer]) -> bool:
        """Publish what a message holds; whether it says that this was everything up to now.

        Raises `Gap`, `CursorExpired` for a log that is another than it was, or `msgspec.DecodeError`.
        """
        events, state, live = list[Event](), self.feed.state, False
        for frame in frames:
            match frame:
                case EventFrame(event=raw):
                    event = event_of(bytes(raw))
                    if event.seq <= state.seq:
                        continue
                    if event.seq > state.seq + 1:
                        raise Gap(f"event {event.seq} came after event {state.seq}")
                    state = apply(state, event)
                    events.append(event)
                case DeltaFrame(delta=raw):
                    self._publish(events, state)
                    events = []
                    self.feed.relay(_deltas.decode(raw))
                case Live(cursor=cursor):
                    live = True
                    if cursor.seq < state.seq:
                        raise CursorExpired(f"the log ends with {cursor.seq}, and {state.seq} was seen")
        self._publish(events, state)
        return live

    def _publish(self, events: list[Event], state: State) -> None:
        if events:
            self._records.epoch = state.epoch
            self.feed.publish(events, state)
