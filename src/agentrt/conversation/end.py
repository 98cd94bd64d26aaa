"""`End`: what carries out what a person asks of a conversation: in this process, or on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from ..actors.feed import Until
from ..codec import Line
from ..controls import AnyControl, Fork, Reply
from ..deltas import Delta
from ..events import Cursor, Event
from ..mcp.asking import ServerAnswer, ServerQuestion
from ..secrets import AnySecret
from ..state import Seen, State
from ..workspaces.asking import Files


class End(Protocol):
    """A conversation that is entered, asked, followed and left. Places in its history are seqs of this epoch."""

    @property
    def id(self) -> str | None:
        """Its name; None before it has one."""
        ...

    @property
    def state(self) -> State:
        """The state after the last event."""
        ...

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The secrets whose values were not kept."""
        ...

    async def enter(self) -> None:
        """Begin it, or open it."""
        ...

    async def close(self) -> None:
        """Leave it."""
        ...

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry a control out, on behalf of the principal `by`; its events are in the state when this returns."""
        ...

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """As `UpdateSecrets`, with secrets that may be no text."""
        ...

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """As `StartRun`; the place after which the run's events come, which is `after` when it is given."""
        ...

    def events(self, after: int) -> AsyncIterator[Event]:
        """The events after a place, up to the newest one now."""
        ...

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """At most `limit` events after a place."""
        ...

    def stream(self, after: int, until: Until = ..., *, deltas: bool = True) -> AsyncIterator[Event | Delta]:
        """The events after a place as they come, with deltas in between; it ends when `until` holds, or it is left."""
        ...

    async def page_json(self, after: int, limit: int) -> Sequence[bytes]:
        """As `page`, with the JSON of each event as it stands in the log."""
        ...

    def lines(self, after: int) -> AsyncIterator[Line | Delta]:
        """As `stream`, with the JSON of each event as it stands in the log."""
        ...

    async def wait_for(self, until: Until) -> State:
        """The first state for which `until` holds, or the last one."""
        ...

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """The event of the last place in the view for which `holds`."""
        ...

    async def fork(self, wanted: Fork, by: str | None = None) -> End:
        """Another conversation that shares the events up to a place, not yet entered."""
        ...

    async def files(self) -> Files:
        """The files of its workspace."""
        ...

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """The answer to a question about its MCP servers."""
        ...

    async def rest(self, idle: float) -> bool:
        """Let it leave memory, unless it was used in the last `idle` seconds; whether it did."""
        ...
