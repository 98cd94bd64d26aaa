"""`Run`: a run of a conversation, under way or about to begin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any

from ..actors.feed import Feed
from ..deltas import Delta
from ..errors import CursorExpired
from ..events import Cursor, Event, RunRequested
from ..host import Host
from ..protocols import ModelClient
from ..state import State


def at_rest(state: State) -> bool:
    """Whether nothing runs, and nothing will without a person."""
    return state.at_rest


class Run:
    """A run under way or about to begin; see `Conversation.run`."""

    def __init__(self, host: Host, client: ModelClient, after: Cursor | int | None) -> None:
        self._host, self._client, self._after = host, client, after

    async def __aiter__(self) -> AsyncIterator[Event]:
        feed, after = await self._begin()
        async for event in feed.events(after, at_rest):
            yield event

    async def stream(self) -> AsyncIterator[Event | Delta]:
        """The run's events, with deltas in between."""
        feed, after = await self._begin()
        async for item in feed.stream(after, at_rest):
            yield item

    def __await__(self) -> Generator[Any, None, State]:
        return self._to_the_end().__await__()

    async def _to_the_end(self) -> State:
        feed, _ = await self._begin()
        return await feed.wait_for(at_rest)

    async def _begin(self) -> tuple[Feed, int]:
        async with self._host.use() as group:
            state = group.feed.state
            await self._client.prepare(state.spec.llm)
            after = group.feed.state.seq if self._after is None else seq_of(self._after, state)
            await group.log.append(RunRequested())
            return group.feed, after


def seq_of(after: Cursor | int, state: State) -> int:
    """The seq of a cursor. Raises `CursorExpired` for one of an earlier epoch, or after the end."""
    if isinstance(after, Cursor):
        if after.seq and after.epoch != state.epoch:
            raise CursorExpired(f"the cursor is of epoch {after.epoch}, the log in epoch {state.epoch}")
        after = after.seq
    if after > state.seq:
        raise CursorExpired(f"the cursor is after event {after}, the log ends with {state.seq}")
    return after
