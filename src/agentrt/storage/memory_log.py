"""`Log`: one conversation in memory; `MemoryJournal` and `MemoryHistory`: its writer's and its readers' views."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from errno import EBADF

from msgspec.structs import replace

from ..codec import decode, encode
from ..errors import ConversationMissing, LogCorrupt, LogFailed
from ..events import ConversationCreated, Event
from ..listing import CRASHED, RUNNING, Row
from ..snapshot import Snapshot
from ..specs import BlobReference
from ..specs.content import TEXT
from ..state import State, apply
from ..storing import Committed, History, Journal, LastWord, Page, Tally, Wanted
from .endings import last_of
from .framing import cut, frame_json
from .pages import bounds, select, tally
from .rows import row_of, task_of


class Log:
    """The data of one conversation; its first `shared` events are those of the conversation that it was forked from.

    Events are stored as records, as in any log: reading them gives what reading from a disk would give.
    """

    def __init__(self, name: str, events: Sequence[bytes] = (), blobs: dict[str, bytes] | None = None) -> None:
        self.name, self.events, self.shared = name, list(events), len(events)
        self.blobs: dict[str, bytes] = dict(blobs or {})
        self.size = self.kept = 0
        """Bytes of its own events, and of its own blobs."""
        self.updated = datetime.now(UTC)
        self.writer: MemoryJournal | None = None
        self.snapshot: Snapshot | None = None
        self.folded = State()

    def copy(self) -> Log:
        """Return a copy, as it would be found after a crash."""
        copy = Log(self.name, self.events, self.blobs)
        copy.shared, copy.size, copy.kept, copy.updated = self.shared, self.size, self.kept, self.updated
        return copy

    @property
    def begun(self) -> bool:
        """Whether it has events of its own; only then does the conversation exist."""
        return len(self.events) > self.shared

    def add(self, lines: list[bytes]) -> None:
        """Add acknowledged events."""
        self.events += lines
        self.size += sum(map(len, lines))
        self.updated = datetime.now(UTC)

    def decoded(self, after: int, upto: int | None = None) -> Iterator[Event]:
        """Return the events after seq `after`, up to `upto`."""
        return map(decode, self.events[max(after, 0) : upto if upto is None else max(upto, 0)])

    def records(self, first: int, last: int, *, backwards: bool = False) -> Iterator[tuple[int, bytes]]:
        """Return the records of a range of seqs."""
        seqs = range(first, last + 1)
        return ((seq, self.events[seq - 1]) for seq in (reversed(seqs) if backwards else seqs))

    def state(self, at: int | None = None) -> State:
        """Return the state after an event, or after the last; the latter is cached."""
        state = self.folded if at is None or at >= self.folded.seq else State()
        for event in self.decoded(state.seq, at):
            state = apply(state, event)
        if at is None:
            self.folded = state
        return state

    def task(self) -> str:
        """Return the first line that a user wrote."""
        return next((said for event in self.decoded(0) if (said := task_of(event)) is not None), "")

    def row(self, live: State | None = None) -> Row:
        """Return its row in the list; `live` may have a more recent state."""
        state = live or self.state()
        row = row_of(self.name, self.updated, self.size, state, "" if state.ledger.title else self.task())
        if row.status == RUNNING and live is None and self.writer is None:
            return replace(row, status=CRASHED)
        return row


class MemoryJournal(Journal):
    """A `Journal` in memory: appended events are acknowledged in the next round of the event loop, in order."""

    def __init__(self, log: Log) -> None:
        self._log, self._released = log, False
        self._given = log.size

    @property
    def size(self) -> int:
        return self._given + self._log.kept

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        encoded = [encode(event) for event in events]
        lines = frame_json(encoded, durable=0)
        self._given += sum(map(len, lines))
        asyncio.get_running_loop().call_soon(self._acknowledge, lines, then, self._released)
        return encoded

    def _acknowledge(self, lines: list[bytes], then: Committed, refused: bool) -> None:
        if refused:
            then(LogFailed(self._log.name, OSError(EBADF, "the journal was released")))
            return
        self._log.add(lines)
        then(None)

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        for event in self._log.decoded(after, upto):
            yield event

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        return [decode(self._log.events[seq - 1]) for seq in seqs if seq <= len(self._log.events)]

    def remember(self, state: State) -> None:
        """Do nothing: opening folds the events in memory."""

    async def sync(self) -> None:
        acknowledged = asyncio.Event()
        asyncio.get_running_loop().call_soon(acknowledged.set)
        await acknowledged.wait()

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        digest = hashlib.sha256(data).hexdigest()
        self._log.blobs[digest] = data
        self._log.kept += len(data)
        return BlobReference(sha256=digest, size=len(data), media_type=media_type, name=name)

    async def fetch(self, blob: BlobReference) -> bytes:
        if (data := self._log.blobs.get(blob.sha256)) is None:
            raise LogCorrupt(self._log.name, 0, f"the blob {blob.sha256} is missing")
        return data

    async def release(self) -> None:
        self._released = True
        await self.sync()


class MemoryHistory(History):
    """A `History` of a log in memory."""

    def __init__(self, logs: dict[str, Log], name: str) -> None:
        self._logs, self._name = logs, name

    @property
    def _log(self) -> Log:
        log = self._logs.get(self._name)
        if log is None or not log.begun:
            raise ConversationMissing(self._name)
        return log

    async def created(self) -> ConversationCreated:
        event = decode(self._log.events[self._log.shared])
        if not isinstance(event, ConversationCreated):
            raise LogCorrupt(self._name, 1, "the log does not begin with a conversation")
        return event

    async def last(self) -> int:
        return len(self._log.events)

    async def read(self, after: int = 0, upto: int | None = None) -> AsyncIterator[Event]:
        for event in self._log.decoded(after, upto):
            yield event

    async def load_json(self, after: int, upto: int) -> Sequence[bytes]:
        return [cut(line) for line in self._log.events[after:upto]]

    async def page(self, wanted: Wanted, limit: int) -> Page:
        first, last = bounds(wanted, await self.last())
        end = first if wanted.backwards else last
        return select(self._log.records(first, last, backwards=wanted.backwards), wanted, limit, end)

    async def count(self, wanted: Wanted) -> Tally:
        first, last = bounds(wanted, await self.last())
        return tally(self._log.records(first, last), wanted, first, last)

    async def event(self, seq: int) -> bytes | None:
        return cut(self._log.events[seq - 1]) if 1 <= seq <= len(self._log.events) else None

    async def state(self, at: int | None = None) -> State:
        return self._log.state(at)

    async def last_word(self) -> LastWord | None:
        return last_of(reversed(self._log.events))

    async def task(self) -> str:
        return self._log.task() if self._name in self._logs else ""

    async def updated(self) -> datetime:
        return self._log.updated

    async def snapshot(self) -> Snapshot | None:
        return self._log.snapshot

    async def fetch(self, sha256: str) -> bytes | None:
        return self._log.blobs.get(sha256)
