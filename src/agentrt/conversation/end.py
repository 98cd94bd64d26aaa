"""`End`: the implementation behind a `Conversation`, in this process or on a server."""

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
from ..workspaces.asking import Files, PlaceEnd


class End(Protocol):
    """A conversation that can be entered, controlled and followed. Its places are seqs of the current epoch."""

    @property
    def id(self) -> str | None:
        """The conversation's id; None before it has one."""
        ...

    @property
    def state(self) -> State:
        """The state after the last event."""
        ...

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The names of secrets whose values were not kept."""
        ...

    async def enter(self) -> None:
        """Begin the conversation, or open it."""
        ...

    async def close(self) -> None:
        """Leave the conversation."""
        ...

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry out a control on behalf of the principal `by`. The state contains its events when this returns."""
        ...

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """Do the same as `UpdateSecrets`; secrets need not be plain text."""
        ...

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """Do the same as `StartRun`. Return the seq after which the run's events come: `after`, if given."""
        ...

    def events(self, after: int) -> AsyncIterator[Event]:
        """Return the events after a seq, up to the newest one now."""
        ...

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` events after a seq."""
        ...

    def stream(self, after: int, until: Until = ..., *, deltas: bool = True) -> AsyncIterator[Event | Delta]:
        """Yield the events after a seq as they come, with deltas in between, until `until` holds or the conversation is
        left.
        """
        ...

    async def page_json(self, after: int, limit: int) -> Sequence[bytes]:
        """Do the same as `page`, with the JSON of each event as it is in the log."""
        ...

    def lines(self, after: int) -> AsyncIterator[Line | Delta]:
        """Do the same as `stream`, with the JSON of each event as it is in the log."""
        ...

    async def wait_for(self, until: Until) -> State:
        """Return the first state for which `until` holds, or the last state."""
        ...

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """Return the event of the last place in the view for which `holds` is true."""
        ...

    async def fork(self, wanted: Fork, by: str | None = None) -> End:
        """Return a conversation, not yet entered, that shares the events up to a place."""
        ...

    async def working_dir(self) -> str:
        """Return the path of the workspace, as its tools see it."""
        ...

    async def files(self) -> Files:
        """Return the files of the workspace."""
        ...

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return the place of the workspace, for commands on behalf of the principal `by`."""
        ...

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """Return the answer to a question about its MCP servers."""
        ...

    async def rest(self, idle: float) -> bool:
        """Unload it from memory, unless it was used in the last `idle` seconds. Return whether it was unloaded."""
        ...
