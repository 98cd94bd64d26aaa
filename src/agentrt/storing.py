"""The interface of a storage of conversations, in terms of seqs and bytes, without paths, offsets or queries."""

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
"""Maximum number of events examined for one page or one count; then it ends, whatever was found."""

Committed: TypeAlias = Callable[[LogFailed | None], None]
"""Called on the event loop when a batch is durable, or with the error."""

LastWord: TypeAlias = PauseEvent | InterruptEvent | RunRequested | MessageEvent | HeadMoved
Live: TypeAlias = Callable[[str], State | None]
"""Returns the state of a conversation that this process has in memory, so that its log need not be read."""

Within: TypeAlias = Callable[[ConversationCreated], bool]
"""Returns whether a conversation is included, by its first event."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished items, and their total."""


class Wanted(msgspec.Struct, frozen=True):
    """A filter of events: `after` < seq < `before` and, if given, some `types`, a `source`, `since` <= timestamp <
    `until`, or `text` in the message, call or result, ignoring case.
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


class Gap(msgspec.Struct, frozen=True):
    """Events of a damaged log that cannot be read: those with `after` < seq < `before`; None: all after it.

    `reason` says what is damaged.
    """

    after: int
    before: int | None
    reason: str


class Page(msgspec.Struct, frozen=True):
    """Events as JSON, in the requested order; `next` is the seq to continue from, None if there are no more.

    `gaps` are the places of damage between them, ascending; the events around a gap are intact.
    """

    events: tuple[msgspec.Raw, ...]
    next: int | None
    gaps: tuple[Gap, ...] = ()


class Tally(msgspec.Struct, frozen=True):
    """The number of events found; `next` is the seq to continue from, None if there are no more."""

    count: int
    next: int | None


class Records(Protocol):
    """The committed events of one conversation."""

    def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """Return the events after seq `after`, up to `upto`. Raises `LogCorrupt`."""
        ...

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        """Return the events with these seqs, which must be ascending. Raises `LogCorrupt`."""
        ...


class Journal(Records, Protocol):
    """The log of one conversation in its storage, held by its only writer."""

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        """Begin to write a batch. `then` is called on the event loop, in order, when it is durable or has failed.

        After a failure, and after the journal was released, every later batch fails. Returns the JSON of each event, as
        it will be in the log.
        """
        ...

    @property
    def size(self) -> int:
        """Bytes of the log, and of the files beside it."""
        ...

    def remember(self, state: State) -> None:
        """Note the state after the last acknowledged event, to speed up the next opening. It is cheap, and may do
        nothing.
        """
        ...

    async def sync(self) -> None:
        """Make all acknowledged events durable. Raises `LogFailed`."""
        ...

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes by their hash, durable when this returns. Raises `LogFailed`."""
        ...

    async def fetch(self, blob: BlobReference) -> bytes:
        """Return stored bytes. Raises `LogCorrupt` if they are missing or damaged."""
        ...


class History(Protocol):
    """The log of one conversation for readers, whether it is open or not, in this process or another one.

    It shows the acknowledged events, as of the first read or later. Every method raises `ConversationMissing` or
    `LogCorrupt`. A damaged log hides only what is damaged: `read` raises after the events before it, and pages, counts
    and single events leave it out.
    """

    async def created(self) -> ConversationCreated:
        """Return the first event, without reading more."""
        ...

    async def last(self) -> int:
        """Return the last seq."""
        ...

    def read(self, after: int = 0, upto: int | None = None) -> AsyncIterator[Event]:
        """Return the events after seq `after`, up to `upto`; later records may be damaged."""
        ...

    async def load_json(self, after: int, upto: int) -> Sequence[bytes]:
        """Return the JSON of the events after seq `after`, up to `upto`, as it is in the log."""
        ...

    async def page(self, wanted: Wanted, limit: int) -> Page:
        """Return the first wanted events, at most `limit`, of the next `SCANNED` ones."""
        ...

    async def count(self, wanted: Wanted) -> Tally:
        """Return the number of wanted events among the next `SCANNED` ones, or among all if every event is wanted."""
        ...

    async def event(self, seq: int) -> bytes | None:
        """Return an event as JSON; None if there is none with that seq."""
        ...

    async def state(self, at: int | None = None) -> State:
        """Return the state after event `at`, or after the last."""
        ...

    async def last_word(self) -> LastWord | None:
        """Return the last event that began, stopped or changed a run from outside.

        The pause that a recovery logs does not count if the conversation was stopped already.
        """
        ...

    async def task(self) -> str:
        """Return the first line that a user wrote: the default title of a conversation. Raises nothing."""
        ...

    async def updated(self) -> datetime:
        """Return when the log was last written."""
        ...

    async def snapshot(self) -> Snapshot | None:
        """Return the snapshot of the state from the last writer's close; None if there is none."""
        ...

    async def fetch(self, sha256: str) -> bytes | None:
        """Return bytes that were stored beside the log; None if there are none with that hash."""
        ...


def is_meant(created: ConversationCreated, owner: str | None, workspace: str | None, within: Within | None) -> bool:
    """Return whether a conversation is included in a search."""
    ours = owner is None or created.owner == owner
    there = workspace is None or created.workspace.path == workspace
    return ours and there and (within is None or within(created))


class Listing(Protocol):
    """The conversations of a storage: lists with filters, and full-text search."""

    async def page(
        self,
        limit: int = 20,
        after: Mark | None = None,
        wanted: Filter = Filter(),
        live: Live = lambda name: None,
    ) -> list[Row]:
        """Return the conversations after a position in the list, the most recently written first."""
        ...

    async def count(self, wanted: Filter | None = None, live: Live = lambda name: None) -> int:
        """Return the number of matching conversations; without a filter, the number known without checking the logs."""
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
        """Return the events in which all `words` occur, the best first, or with `newest` the newest conversations.

        `owner` and `workspace` limit the search to an owner's conversations and to a workspace; `within` filters them
        by their first event. Quotes make a phrase, and a star ends a prefix. Raises `ConfigurationError` without a
        word, or if there is no search.
        """
        ...


class Shelf(Protocol):
    """Small documents, each with a kind and a name, that several processes read and replace.

    A version identifies a document's content; 0 is that of a missing document. All methods raise `ConfigurationError`
    for a document that cannot be read or written.
    """

    async def get(self, kind: str, name: str) -> tuple[bytes, int] | None:
        """Return a document and its version; None if there is none."""
        ...

    async def put(self, kind: str, name: str, data: bytes, version: int) -> int:
        """Replace a document of that version, durably; return the new version. Raises `VersionConflict` for another
        one.
        """
        ...

    async def delete(self, kind: str, name: str) -> None:
        """Delete a document, if there is one."""
        ...

    async def names(self, kind: str) -> list[str]:
        """Return the names of a kind's documents, sorted."""
        ...

    def where(self, kind: str, name: str) -> str:
        """Return the location of a document, in words for people."""
        ...


async def replaced(shelf: Shelf, kind: str, name: str, change: Callable[[bytes | None], bytes]) -> bytes:
    """Replace a document with the result of `change`, retrying if another process was first; return the new one."""
    while True:
        held = await shelf.get(kind, name)
        data = change(None if held is None else held[0])
        try:
            await shelf.put(kind, name, data, 0 if held is None else held[1])
            return data
        except VersionConflict:
            continue


class Storage(Protocol):
    """A storage of conversations; an async context manager that may be entered several times."""

    @property
    def durability(self) -> Durability:
        """When a batch is acknowledged."""
        ...

    @property
    def address(self) -> str:
        """An address that identifies it among all storages, and does not change."""
        ...

    @property
    def places(self) -> Sequence[str]:
        """Local paths below which it keeps files that agents must not touch."""
        ...

    @property
    def waiting(self) -> int:
        """Number of batches that are not written yet."""
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
        """Enter the storage. Raises `ConfigurationError` if it cannot be used."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> Any:
        """Release the open journals, once all users have left."""
        ...

    async def create(self, conversation_id: str) -> Journal:
        """Return a new, empty journal; the conversation exists from its first batch on.

        Raises `ConversationExists`, or `ConfigurationError` for an invalid conversation id.
        """
        ...

    async def open(
        self, conversation_id: str, replay: Callable[[Event], None], recall: Callable[[State], None] | None = None
    ) -> Journal:
        """Return the journal, after passing its events' outlines to `replay`.

        `recall` may get a state in place of the first ones. Raises `ConversationMissing`, `LogLocked` or `LogCorrupt`.
        """
        ...

    async def fork(self, parent: str, conversation_id: str, at: int, replay: Callable[[Event], None]) -> Journal:
        """Return a new journal that shares the first `at` events of `parent`, whose outlines are passed to `replay`.

        Raises the errors of `create`, `ConversationMissing`, `EventRefused` if there are fewer events, or `LogCorrupt`.
        """
        ...

    async def probe(self) -> None:
        """Write something durably and remove it, to see whether conversations can be written. Raises `LogFailed`."""
        ...

    async def release(self, conversation_id: str, state: State | None = None) -> None:
        """Close a journal, so that other processes may write it; its last state speeds up the next opening.

        Raises a `LogFailed` that was not reported.
        """
        ...

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation that is not open; its forks keep what they share with it.

        Raises `ConversationMissing`, `LogLocked` or `LogFailed`.
        """
        ...

    def history(self, conversation_id: str) -> History:
        """Return the log for readers. Raises `ConfigurationError` for an invalid conversation id."""
        ...

    def beside(self, conversation_id: str) -> str:
        """Return a local directory, not created yet, for files of a conversation that are in no event.

        It is deleted with the conversation. Raises `ConfigurationError` for an invalid conversation id.
        """
        ...

    def where(self, conversation_id: str) -> str:
        """Return the location of a conversation's log, in words for people."""
        ...
