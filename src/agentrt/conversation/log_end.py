"""`LogEnd`: the end of a conversation that another process has open. It is only read, from its log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

import anyio

from ..actors.feed import Until, never
from ..codec import Line, decode, decode_envelope
from ..controls import AnyControl, Fork, Reply
from ..deltas import Delta
from ..errors import LogLocked
from ..events import Cursor, Event
from ..loading import load
from ..mcp.asking import ServerAnswer, ServerQuestion
from ..secrets import AnySecret
from ..state import Seen, State
from ..storing import Storage
from .conversation import Conversation
from .end import End

if TYPE_CHECKING:
    from ..workspaces.asking import PlaceEnd
    from ..workspaces.local import LocalFiles

POLL_SECONDS = 0.5
"""Seconds between two looks at a log that is followed."""

SETTLED = timedelta(seconds=2)
"""Age of a file's time from which every later write has another time (file systems have ticks of up to 2 s)."""

PAGE = 256
"""Number of events that are read from the log at once."""


class LogEnd:
    """A conversation that another process has open, as its log is on disk.

    Everything that would change it raises `LogLocked`. It is followed by looking at the log again and again, without
    deltas, until `is_ours` returns True: then the conversation was opened in this process. `refresh` must be called
    before the first use.
    """

    __slots__ = ("_is_ours", "_lock", "_name", "_state", "_store", "_updated")

    def __init__(self, store: Storage, name: str, is_ours: Callable[[], Awaitable[bool]]) -> None:
        self._store, self._name, self._is_ours = store, name, is_ours
        self._state, self._lock = State(), anyio.Lock()
        self._updated: datetime | None = None
        """When the log was written, if a later write is sure to have another time."""

    async def refresh(self) -> None:
        """Read the state again if the log was written since. Raises `ConversationMissing` or `LogCorrupt`."""
        history = self._store.history(self._name)
        async with self._lock:  # so that no older state replaces a newer one
            updated = await history.updated()  # before it is read: what comes meanwhile is read the next time
            if updated != self._updated:
                self._state = await history.state()
                self._updated = updated if datetime.now(UTC) - updated > SETTLED else None

    @property
    def id(self) -> str | None:
        """The conversation's id."""
        return self._name

    @property
    def state(self) -> State:
        """The state after the last event that was read."""
        return self._state

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """Nothing: only the process that has it open knows."""
        return ()

    async def enter(self) -> None:
        """Do nothing: readers need no place in memory."""

    async def close(self) -> None:
        """Do nothing."""

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Raise `LogLocked`."""
        self._refuse()

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """Raise `LogLocked`."""
        self._refuse()

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """Raise `LogLocked`."""
        self._refuse()

    async def fork(self, wanted: Fork, by: str | None = None) -> End:
        """Raise `LogLocked`."""
        self._refuse()

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """Raise `LogLocked`: the connections are those of the other process."""
        self._refuse()

    def events(self, after: int) -> AsyncIterator[Event]:
        """Return the events after a seq, up to the newest one that was read."""
        return self._store.history(self._name).read(after, self._state.seq)

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` events after a seq."""
        return [decode(data) for data in await self.page_json(after, limit)]

    async def page_json(self, after: int, limit: int) -> Sequence[bytes]:
        """Do the same as `page`, with the JSON of each event as it is in the log."""
        upto = min(after + limit, self._state.seq)
        return await self._store.history(self._name).load_json(after, upto)

    async def stream(self, after: int, until: Until = never, *, deltas: bool = True) -> AsyncIterator[Event | Delta]:
        """Yield the events after a seq as they come into the log, until `until` holds or it was opened here."""
        async for line in self._lines(after, until):
            yield decode(line.data)

    async def lines(self, after: int) -> AsyncIterator[Line | Delta]:
        """Do the same as `stream`, with the JSON of each event as it is in the log."""
        async for line in self._lines(after, never):
            yield line

    async def _lines(self, after: int, until: Until) -> AsyncIterator[Line]:
        while True:
            while after < self._state.seq:
                for data in await self.page_json(after, PAGE):
                    after += 1
                    yield Line(after, decode_envelope(data).id, data)
            if until(self._state) or await self._is_ours():
                return
            await anyio.sleep(POLL_SECONDS)
            await self.refresh()

    async def wait_for(self, until: Until) -> State:
        """Return the last state that was read."""
        return self._state

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """Return the event of the last place in the view for which `holds` is true."""
        seen = next(filter(holds, reversed(self._state.branch.view)), None)
        return None if seen is None else (await self.page(seen.seq - 1, 1))[0]

    async def working_dir(self) -> str:
        """Return the path of the workspace."""
        assert self._state.created is not None
        return self._state.created.workspace.path

    def place(self, by: str | None = None) -> PlaceEnd:
        """Raise `LogLocked`: another process has the conversation open."""
        self._refuse()

    async def files(self) -> LocalFiles:
        """Return the files of the workspace."""
        created = self._state.created
        assert created is not None
        files: LocalFiles = (await load("agentrt.host.kept")).files_of(self._store, created)
        return files

    async def rest(self, idle: float) -> bool:
        """Return False: it is not in the memory of this process."""
        return False

    def _refuse(self) -> NoReturn:
        raise LogLocked(self._name)


def read_only(end: LogEnd) -> Conversation:
    """Return a conversation with this end, entered."""
    conversation = Conversation.__new__(Conversation)
    conversation._end = end
    return conversation
