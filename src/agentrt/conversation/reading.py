"""`Reading`: the contents of a conversation as events, bytes and outputs."""

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
    """The read-only part of a `Conversation`."""

    __slots__ = ("_end",)

    _end: End

    @property
    def state(self) -> State:
        """The immutable state after the last event; without messages and configuration while it sleeps."""
        return self._end.state

    async def context_usage(self) -> ContextUsage:
        """Return the use of the model's context window by kind, in tokens. While the conversation sleeps, read it from
        the log.
        """
        state = self.state
        if state.created is None:
            state = fold([event async for event in self.events(0)])
        return context_usage(state)

    async def output(self, kind: type[T]) -> T | None:
        """Return the last output that the agent gave to `finish`, as a struct, a dataclass or a pydantic model; None if
        there is none yet. For an agent with an `output`. Raises `msgspec.ValidationError` if the output is not of this
        type.
        """
        last = await self._end.newest(lambda seen: seen.answer and seen.type == "ObservationEvent")
        if not isinstance(last, ObservationEvent):
            return None
        found = msgspec.json.decode(last.details_json, type=dict[str, msgspec.Raw] | None)
        return cast("T", reader_of(kind)(found["output"])) if found else None

    def events(self, after: Cursor | int = 0) -> AsyncIterator[Event]:
        """Return the events after a cursor, up to the newest one now, also while the conversation sleeps.

        Raises `CursorExpired` for a cursor of another epoch. A bare seq counts as a cursor of epoch 0, here and
        elsewhere.
        """
        return self._end.events(self._seq(after))

    async def page(self, after: Cursor | int = 0, limit: int = 100) -> Sequence[Event]:
        """Return at most `limit` events after a cursor, all at once. Raises `CursorExpired` for a cursor of an earlier
        epoch.
        """
        return await self._end.page(self._seq(after), limit)

    async def stream(self, after: Cursor | int = 0) -> AsyncIterator[Event | Delta]:
        """Yield the events after a cursor, then new ones as they come, with deltas in between, until the conversation
        is left. Raises `CursorExpired` for a cursor of an earlier epoch.
        """
        async for item in self._end.stream(self._seq(after)):
            yield item

    async def page_json(self, after: Cursor | int = 0, limit: int = 100) -> Sequence[bytes]:
        """Do the same as `page`, but return the JSON of each event as it is in the log, ready to be passed on.

        Raises `ConfigurationError` for a conversation on a server, as does `lines`.
        """
        return await self._end.page_json(self._seq(after), limit)

    def lines(self, after: Cursor | int = 0) -> AsyncIterator[Line | Delta]:
        """Do the same as `stream`, but with the JSON of each event as it is in the log, ready to be passed on."""
        return self._end.lines(self._seq(after))

    def _seq(self, after: Cursor | int) -> int:
        return seq_of(after, self.state)
