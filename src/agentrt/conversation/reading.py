"""`Reading`: what a conversation has said, as events, bytes and outputs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar, cast

import msgspec

from ..codec import Line
from ..context.usage import ContextUsage, context_usage
from ..deltas import Delta
from ..events import Cursor, Event, ObservationEvent
from ..specs.schemas import reader_of
from ..state import State, fold, seq_of
from .end import End

T = TypeVar("T")


class Reading:
    """The part of a `Conversation` that changes nothing."""

    __slots__ = ("_end",)

    _end: End

    @property
    def state(self) -> State:
        """The state after the last event; immutable. While it sleeps, without what was said and its configuration."""
        return self._end.state

    async def context_usage(self) -> ContextUsage:
        """What fills the model's context window now, by kind, in tokens; while it sleeps it is read from the log."""
        state = self.state
        if state.created is None:
            state = fold([event async for event in self.events(0)])
        return context_usage(state)

    async def output(self, kind: type[T]) -> T | None:
        """What the agent gave to `finish` last, for an agent with an `output`, as a struct, a dataclass or a pydantic
        model; None before that. Raises `msgspec.ValidationError` when it is not of this kind.
        """
        last = await self._end.newest(lambda seen: seen.answer and seen.type == "ObservationEvent")
        if not isinstance(last, ObservationEvent):
            return None
        found = msgspec.json.decode(last.details, type=dict[str, msgspec.Raw] | None)
        return cast("T", reader_of(kind)(found["output"])) if found else None

    def events(self, after: Cursor | int = 0) -> AsyncIterator[Event]:
        """The events after a cursor, up to the newest one now; they are read while it sleeps, too.

        Raises `CursorExpired` for one of another epoch. A seq alone is a cursor of epoch 0, here and elsewhere.
        """
        return self._end.events(self._seq(after))

    async def page(self, after: Cursor | int = 0, limit: int = 100) -> Sequence[Event]:
        """At most `limit` events after a cursor, all at once. Raises `CursorExpired` for one of an earlier epoch."""
        return await self._end.page(self._seq(after), limit)

    async def stream(self, after: Cursor | int = 0) -> AsyncIterator[Event | Delta]:
        """The events after a cursor, then those to come as they come, with deltas in between; it ends with the
        conversation. Raises `CursorExpired` for a cursor of an earlier epoch.
        """
        async for item in self._end.stream(self._seq(after)):
            yield item

    async def page_json(self, after: Cursor | int = 0, limit: int = 100) -> Sequence[bytes]:
        """As `page`, for who passes the events on: each is the JSON that stands in its line of the log.

        Raises `ConfigurationError` for a conversation on a server, as does `lines`.
        """
        return await self._end.page_json(self._seq(after), limit)

    def lines(self, after: Cursor | int = 0) -> AsyncIterator[Line | Delta]:
        """As `stream`, for who passes the events on: each comes as the JSON that stands in its line of the log."""
        return self._end.lines(self._seq(after))

    def _seq(self, after: Cursor | int) -> int:
        return seq_of(after, self.state)
