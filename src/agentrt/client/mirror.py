"""`Mirror`: a conversation received over a socket: its events once and in order, its state, its deltas."""

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
    """Raised when events are missing before one that was received."""


class Mirror:
    """The fold of the received events, published to local followers."""

    def __init__(self, records: RemoteRecords) -> None:
        self.feed, self._records = Feed(records, State()), records

    @property
    def cursor(self) -> Cursor:
        """The cursor after which more events are wanted."""
        return self.feed.cursor()

    def take(self, frames: Sequence[FromServer]) -> bool:
        """Publish the content of a message, and return whether it says that this was everything up to now.

        Raises `Gap`, `CursorExpired` if the log is no longer the same, or `msgspec.DecodeError`.
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
