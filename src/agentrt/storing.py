"""The face of a storage: what keeps conversations, in terms of seqs and bytes. No path, offset or query is in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import msgspec

from .errors import LogFailed, VersionConflict
from .events import ConversationCreated, Event, HeadMoved, InterruptEvent, MessageEvent, PauseEvent, RunRequested
from .listing import Filter, Hit, Mark, Row
from .snapshot import Snapshot
from .specs import BlobReference, Durability
from .specs.content import TEXT
from .state import State

SCANNED = 10_000
"""Events that are looked at for one page or one count; then it ends, whatever was found."""

Committed: TypeAlias = Callable[[LogFailed | None], None]
"""Told on the event loop that a batch is durable, or why it is not."""

LastWord: TypeAlias = PauseEvent | InterruptEvent | RunRequested | MessageEvent | HeadMoved
Live: TypeAlias = Callable[[str], State | None]
"""The state of a conversation that this process has in memory: its log need not be read."""

Within: TypeAlias = Callable[[ConversationCreated], bool]
"""Whether a conversation is meant, by its first event."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


class Wanted(msgspec.Struct, frozen=True):
    """Which events: those with `after` < seq < `before`, and of these, where it is given, those of some `types`, of a
    `source`, with `since` <= timestamp < `until`, or with `text` in what was said, called or observed, in any case.
    """

    after: int
    before: int
    backwards: bool = False
    types: frozenset[str] = frozenset()
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""

    @property
    def all(self) -> bool:
        """Whether every event between `after` and `before` is wanted."""
        return not (self.types or self.source or self.since or self.until or self.text)


class Page(msgspec.Struct, frozen=True):
    """Events as JSON, in the order asked for; `next` is the seq from which to go on, None when nothing is left."""

    events: tuple[msgspec.Raw, ...]
    next: int | None


class Tally(msgspec.Struct, frozen=True):
    """How many events were found; `next` is the seq from which to go on, None when nothing is left."""

    count: int
    next: int | None


class Records(Protocol):
    """The committed events of one conversation."""

    def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """The events after seq `after`, up to `upto`. Raises `LogCorrupt`."""
        ...

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        """The events with these seqs, which rise. Raises `LogCorrupt`."""
        ...


class Journal(Records, Protocol):
    """The log of one conversation on its storage, held by its only writer."""

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        """Begin to write a batch. `then` is told on the event loop that it is durable, or why not, in the order given.

        After a failure, and after the journal was released, no batch is durable any more. Returns the JSON of each
        event, as it will stand in the log.
        """
        ...

    @property
    def size(self) -> int:
        """Bytes of the log, and of what is kept beside it."""
        ...

    def remember(self, state: State) -> None:
        """The state after what was acknowledged last: of use to the next opening. It is cheap, and may do nothing."""
        ...

    async def sync(self) -> None:
        """Make durable all that was acknowledged. Raises `LogFailed`."""
        ...

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes by their hash, durable when this returns. Raises `LogFailed`."""
        ...

    async def fetch(self, blob: BlobReference) -> bytes:
        """Bytes that were stored. Raises `LogCorrupt` when they are gone or damaged."""
        ...


class History(Protocol):
    """The log of one conversation for readers, open or not, in this process or another one.

    It shows what was acknowledged, as it stands at the first read or later. Every method raises `ConversationMissing`
    or `LogCorrupt`.
    """

    async def created(self) -> ConversationCreated:
        """The first event; no more is read."""
        ...

    async def last(self) -> int:
        """The last seq."""
        ...

    def read(self, after: int = 0, upto: int | None = None) -> AsyncIterator[Event]:
        """The events after seq `after`, up to `upto`; what comes after that may be damaged."""
        ...

    async def load_json(self, after: int, upto: int) -> Sequence[bytes]:
        """The JSON of the events after a seq, up to another, as it stands in the log."""
        ...

    async def page(self, wanted: Wanted, limit: int) -> Page:
        """The first events that are wanted, `limit` at most, of the next `SCANNED` ones."""
        ...

    async def count(self, wanted: Wanted) -> Tally:
        """How many events are wanted, of the next `SCANNED` ones, or of all where every one is."""
        ...

    async def event(self, seq: int) -> bytes | None:
        """An event as JSON; None when there is none of that seq."""
        ...

    async def state(self, at: int | None = None) -> State:
        """The state after event `at`, or after the last."""
        ...

    async def last_word(self) -> LastWord | None:
        """The last event that began, stopped or changed a run from outside; None also when it is far from the end."""
        ...

    async def task(self) -> str:
        """The first line that a user wrote: the title of a conversation that was given none. Raises nothing."""
        ...

    async def updated(self) -> datetime:
        """When the log was written last."""
        ...

    async def snapshot(self) -> Snapshot | None:
        """What was noted of the state when a writer left it; None when there is nothing."""
        ...

    async def fetch(self, sha256: str) -> bytes | None:
        """Bytes that were stored beside the log; None when there are none of that hash."""
        ...


def is_meant(created: ConversationCreated, owner: str | None, workspace: str | None, within: Within | None) -> bool:
    """Whether a conversation is one of those that a search is about."""
    ours = owner is None or created.owner == owner
    there = workspace is None or created.workspace.path == workspace
    return ours and there and (within is None or within(created))


class Listing(Protocol):
    """The conversations of a storage: all, those that fit, and those in which something was said."""

    async def page(
        self,
        limit: int = 20,
        after: Mark | None = None,
        wanted: Filter = Filter(),
        live: Live = lambda name: None,
    ) -> list[Row]:
        """The conversations after a place in the list, those written last first."""
        ...

    async def count(self, wanted: Filter | None = None, live: Live = lambda name: None) -> int:
        """How many conversations fit; without a filter how many there are, as far as that is known without a look."""
        ...

    async def search(
        self,
        words: str,
        limit: int = 20,
        *,
        newest: bool = False,
        owner: str | None = None,
        workspace: str | None = None,
        within: Within | None = None,
        progress: Progress = lambda done, of: None,
    ) -> list[Hit]:
        """Events in which all `words` occur, the best first, or those of the `newest` conversations.

        With an `owner` only those of that owner's conversations, with a `workspace` those there, and those of which
        `within` is true. A phrase stands
        in quotes, and a star ends the beginning of a word. Raises `ConfigurationError` without a word, or where there
        is no search.
        """
        ...


class Shelf(Protocol):
    """Small documents, each of a kind and with a name, that several processes read and replace.

    A version tells a document from what stood there before; 0 is that of none. All methods raise `ConfigurationError`
    for a document that cannot be read or written.
    """

    async def get(self, kind: str, name: str) -> tuple[bytes, int] | None:
        """A document and its version; None when there is none."""
        ...

    async def put(self, kind: str, name: str, data: bytes, version: int) -> int:
        """Replace a document of that version, durably; the new version. Raises `VersionConflict` for another one."""
        ...

    async def delete(self, kind: str, name: str) -> None:
        """Delete a document, if there is one."""
        ...

    async def names(self, kind: str) -> list[str]:
        """The names of a kind's documents, sorted."""
        ...

    def where(self, kind: str, name: str) -> str:
        """Where a document is, in words for a person."""
        ...


async def replaced(shelf: Shelf, kind: str, name: str, change: Callable[[bytes | None], bytes]) -> bytes:
    """Replace a document by what `change` makes of it, again when another process was first; the new one."""
    while True:
        held = await shelf.get(kind, name)
        data = change(None if held is None else held[0])
        try:
            await shelf.put(kind, name, data, 0 if held is None else held[1])
            return data
        except VersionConflict:
            continue


class Storage(Protocol):
    """Where conversations are kept; an async context manager. Several may enter the same one."""

    @property
    def durability(self) -> Durability:
        """When a batch is acknowledged."""
        ...

    @property
    def address(self) -> str:
        """Names it among all storages, and is the same the next time."""
        ...

    @property
    def places(self) -> Sequence[str]:
        """Paths of this machine below which it keeps what no agent should touch."""
        ...

    @property
    def waiting(self) -> int:
        """Batches that are not written yet."""
        ...

    @property
    def listing(self) -> Listing:
        """Its conversations."""
        ...

    @property
    def shelf(self) -> Shelf:
        """Its small documents."""
        ...

    async def __aenter__(self) -> Self:
        """Raises `ConfigurationError` where it cannot be."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> Any:
        """Release the journals that are open, once all who entered have left."""
        ...

    async def create(self, conversation_id: str) -> Journal:
        """A new, empty journal; the conversation is there with its first batch.

        Raises `ConversationExists`, or `ConfigurationError` for a name that is no conversation id.
        """
        ...

    async def open(
        self, conversation_id: str, replay: Callable[[Event], None], recall: Callable[[State], None] | None = None
    ) -> Journal:
        """The journal, the outlines of its events given to `replay`, or to `recall` a state in place of the first ones.

        Raises `ConversationMissing`, `LogLocked` or `LogCorrupt`.
        """
        ...

    async def fork(self, parent: str, conversation_id: str, at: int, replay: Callable[[Event], None]) -> Journal:
        """A new journal that shares the first `at` events of `parent`, whose outlines are given to `replay`.

        Raises as `create` does, `ConversationMissing`, `EventRefused` when there are not so many, or `LogCorrupt`.
        """
        ...

    async def release(self, conversation_id: str, state: State | None = None) -> None:
        """Close a journal, so that others may write it; its last state is of use to the next opening.

        Raises a `LogFailed` that nobody was told.
        """
        ...

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation that is not open; its forks keep what they share with it.

        Raises `ConversationMissing`, `LogLocked` or `LogFailed`.
        """
        ...

    def history(self, conversation_id: str) -> History:
        """The log for readers. Raises `ConfigurationError` for a name that is no conversation id."""
        ...

    def beside(self, conversation_id: str) -> str:
        """A directory of this machine, not made yet, for what is kept with a conversation and is in no event.

        It goes with the conversation. Raises `ConfigurationError` for a name that is no conversation id.
        """
        ...

    def where(self, conversation_id: str) -> str:
        """Where a conversation's log is, in words for a person."""
        ...
