"""`FileStore`: a directory of conversations."""

from __future__ import annotations

import contextlib
import logging
import os
from array import array
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self

import anyio.to_thread

from ..errors import (
    ConfigurationError,
    ConversationExists,
    ConversationMissing,
    EventRefused,
    LogCorrupt,
    LogFailed,
    LogLocked,
)
from ..events import Event
from ..snapshot import snapshot
from ..specs import Durability
from ..state import State
from .catalogue import Catalogue
from .damage import read_whole_log
from .disk import Disk, keep_private, make_directories, write_probe
from .history import FileHistory, FileListing
from .journal import FileJournal, Rest, clear, kept, settle
from .lineage import adopt, delete, is_deleted
from .locks import Locks
from .memos import read_memo, write_memo
from .names import checked_id
from .reading import EVENTS, Part, read_log, read_on
from .shelf import FileShelf
from .snapshots import write_snapshot
from .threads import to_the_end
from .writer import Probe, Writer

_log = logging.getLogger(__name__)

LINEAGE_SECONDS = 1.0
"""Seconds that a fork or a deletion waits for another one of the same conversation."""


class FileStore:
    """A directory for each conversation below `root/conversations`; shared by processes through locks.

    An async context manager. The writer thread runs between enter and exit; that of a `lazy` store starts with the
    first conversation that is written, so that a reader leaves nothing behind.
    """

    def __init__(
        self,
        root: Path,
        probe: Probe = lambda point: None,
        durability: Durability = Durability.COMMIT,
        *,
        lazy: bool = False,
        disk: Disk = Disk(),
    ) -> None:
        self._disk = disk
        self.durability, self._root, self._probe, self._lazy = durability, root, probe, lazy
        self._conversations = root / "conversations"
        self._open: dict[str, FileJournal] = {}
        self._uncut: dict[str, Rest] = {}
        """What remains of logs that failed and could not be cut yet."""
        self._catalogue = Catalogue(root)
        self.listing, self.shelf = FileListing(self._catalogue), FileShelf(root)
        self._writing: AsyncExitStack | None = None
        self._entered = 0
        """Number of users: each has entered the store, and the last one that leaves closes it."""

    async def __aenter__(self) -> Self:
        if not self._entered:
            self._preparing = anyio.Lock()
        if not self._lazy:
            await self._prepare()
        self._entered += 1
        return self

    async def _prepare(self) -> None:
        """Prepare for writing, once. Raises `ConfigurationError` if there can be no store."""
        async with self._preparing:
            if self._writing is None:
                await self._begin()

    async def _begin(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._make)
            self._locks = Locks(self._root / "lock")
        except OSError as error:
            raise ConfigurationError(
                f"there can be no store in {str(self._root)!r}: {error.strerror or error}; name another directory"
            ) from error
        self._notes = ThreadPoolExecutor(1, "agentrt-catalogue")
        self._writer = Writer(self._conversations, self._probe, self.durability, self._disk)
        self._writing = AsyncExitStack()
        self._writing.callback(self._locks.close)
        self._writing.push_async_callback(to_the_end, self._catalogue.close)
        self._writing.push_async_callback(to_the_end, self._notes.shutdown)
        self._writing.push_async_callback(self._writer.close)

    def _make(self) -> None:
        """Make the directories, and those that an earlier version made private. Raises `OSError`."""
        make_directories(self._conversations)
        for directory in (self._root, self._conversations):
            if why := keep_private(directory, shared=directory == self._root):
                _log.warning(
                    "other users can read %s, a directory of the store, and it is left so: %s. Name another directory"
                    " for the store, or chmod 700 it",
                    directory,
                    why,
                )

    async def __aexit__(self, *_: object) -> None:
        self._entered -= 1
        if self._entered:
            return
        with anyio.CancelScope(shield=True):
            try:
                for name in list(self._open):
                    await self.release(name)
            finally:
                if (writing := self._writing) is not None:
                    self._writing = None
                    await writing.aclose()

    @property
    def address(self) -> str:
        """The path of its directory, with links resolved."""
        return os.path.realpath(self._root)

    @property
    def places(self) -> tuple[str, ...]:
        """Its directory as it was named, and with links resolved."""
        return tuple(dict.fromkeys((os.path.normpath(self._root.absolute()), self.address)))

    def beside(self, conversation_id: str) -> str:
        """Return a directory beside a conversation's log."""
        return str(self._directory(conversation_id) / "beside")

    def where(self, conversation_id: str) -> str:
        """Return the path of a conversation's log."""
        return str(self._directory(conversation_id) / EVENTS)

    def history(self, conversation_id: str) -> FileHistory:
        """Return the log of a conversation, for readers. Raises `ConfigurationError` for an invalid id."""
        return FileHistory(self._directory(conversation_id), self._open.get(conversation_id))

    def _directory(self, conversation_id: str) -> Path:
        return self._conversations / checked_id(conversation_id)

    async def create(self, conversation_id: str) -> FileJournal:
        """Return a new journal; its file is created with the first batch. Raises `ConversationExists`, even if the
        conversation is locked or damaged: the id alone must not reveal its owner or its condition.
        """
        directory = self._directory(conversation_id)
        try:
            async with self._claim(conversation_id, directory / EVENTS):
                if not await to_the_end(clear, directory / EVENTS):
                    raise ConversationExists(conversation_id)
        except (LogLocked, LogCorrupt):
            raise ConversationExists(conversation_id) from None
        journal = self._open[conversation_id] = FileJournal(
            directory, self._writer, [Part(directory / EVENTS, 0, array("Q"))], self._remember, new=True
        )
        self._tell(self._catalogue.begin, conversation_id)
        return journal

    async def fork(self, parent: str, conversation_id: str, at: int, replay: Callable[[Event], None]) -> FileJournal:
        """Return a new journal that shares the first `at` records of `parent`, whose outlines are passed to `replay`.

        Its own file is created with the first batch. Raises the errors of `create`, `ConversationMissing` or
        `LogCorrupt`.
        """
        origin, directory = self._directory(parent), self._directory(conversation_id)
        if not await anyio.to_thread.run_sync(_is_there, origin):
            raise ConversationMissing(parent)
        await self.create(conversation_id)
        try:
            async with self._lineage(parent):
                parts = await to_the_end(_share, origin, conversation_id, at, replay)
        except BaseException as error:
            await self.release(conversation_id)
            if isinstance(error, OSError):
                raise LogFailed(origin / EVENTS, error) from error
            raise
        own = Part(directory / EVENTS, at, array("Q"))
        journal = self._open[conversation_id] = FileJournal(
            directory, self._writer, [*parts, own], self._remember, new=True
        )
        return journal

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation that is not open; its records stay while forks share them.

        Raises `ConversationMissing`, `LogLocked` or `LogFailed`.
        """
        directory = self._directory(conversation_id)
        if not await anyio.to_thread.run_sync(_is_there, directory):
            raise ConversationMissing(conversation_id)
        async with self._claim(conversation_id, directory / EVENTS), self._lineage(conversation_id):
            await to_the_end(delete, directory)
            self._uncut.pop(conversation_id, None)
            self._tell(self._catalogue.forget, conversation_id)
        self._locks.release(conversation_id)

    async def open(
        self,
        conversation_id: str,
        replay: Callable[[Event], None],
        recall: Callable[[State], None] | None = None,
    ) -> FileJournal:
        """Return the journal, after passing its events' outlines to `replay`, in a thread.

        An incomplete tail is set aside. With `recall`, a stored state may replace the first events. Raises
        `ConversationMissing`, `LogLocked` or `LogCorrupt`.
        """
        directory = self._directory(conversation_id)
        path = directory / EVENTS
        if not await anyio.to_thread.run_sync(_is_there, directory):
            raise ConversationMissing(conversation_id)
        async with self._claim(conversation_id, path):
            if (rest := self._uncut.get(conversation_id)) is not None:
                await to_the_end(rest.cut)
                del self._uncut[conversation_id]
            parts, size = await to_the_end(lambda: (_read(directory, replay, recall), kept(directory)))
        self._tell(self._catalogue.begin, conversation_id)
        journal = self._open[conversation_id] = FileJournal(
            directory, self._writer, parts, self._remember, new=False, kept=size
        )
        return journal

    @property
    def waiting(self) -> int:
        """Number of batches that are not written yet."""
        return 0 if self._writing is None else self._writer.waiting

    async def probe(self) -> None:
        """Write and sync a small file. Raises `LogFailed` if that fails."""
        if self._writing is None:
            await self._prepare()
        path = self._root / f".probe-{os.getpid()}"
        try:
            await to_the_end(write_probe, self._disk, path)
        except OSError as error:
            raise LogFailed(path, error) from error

    async def release(self, conversation_id: str, state: State | None = None) -> None:
        """Close a journal, so that other processes may write it; pending batches are first written and made durable.

        The last `state` is stored as a snapshot and in the catalogue. Raises a `LogFailed` that was not reported.
        """
        with anyio.CancelScope(shield=True):
            try:
                if journal := self._open.pop(conversation_id, None):
                    try:
                        await journal.close()
                    finally:
                        await to_the_end(self._notes.submit(self._leave, journal, state).result)
                        self._tell(self._catalogue.note, conversation_id, None if journal.failed else state)
            finally:
                if self._writing is not None:
                    self._locks.release(conversation_id)

    def _leave(self, journal: FileJournal, state: State | None) -> None:
        """Store what makes the next opening quick; of a failed log, only what it acknowledged. For a thread."""
        if journal.unused:
            with contextlib.suppress(OSError):
                journal.abandon()
        elif journal.failed:
            try:
                journal.rest.cut()
            except OSError:
                self._uncut[journal.directory.name] = journal.rest
        elif state is not None:
            with contextlib.suppress(OSError, ValueError):
                write_snapshot(journal.directory, snapshot(state))
            _write_memo(journal.directory, state, journal.parts)

    def _remember(self, directory: Path, state: State, parts: Sequence[Part]) -> None:
        self._notes.submit(_write_memo, directory, state, parts)

    def _tell(self, note: Callable[..., None], *values: object) -> None:
        """Update the catalogue, in order, without waiting: it is a cache."""
        self._notes.submit(note, *values)

    @asynccontextmanager
    async def _lineage(self, parent: str) -> AsyncIterator[None]:
        """Exclude other forks and deletions of `parent`, in every process. Raises `LogLocked` after a second."""
        name, until = f"{parent}:lineage", anyio.current_time() + LINEAGE_SECONDS  # no conversation's name
        while True:
            try:
                self._locks.acquire(name)
                break
            except LogLocked:
                if anyio.current_time() > until:
                    raise LogLocked(parent) from None
                await anyio.sleep(0.01)
        try:
            yield
        finally:
            self._locks.release(name)

    @asynccontextmanager
    async def _claim(self, conversation_id: str, path: Path) -> AsyncIterator[None]:
        """Lock a conversation, and release the lock if the body fails."""
        if self._writing is None:
            await self._prepare()
        self._locks.acquire(conversation_id)
        try:
            yield
        except OSError as error:
            self._locks.release(conversation_id)
            raise LogFailed(path, error) from error
        except BaseException:
            self._locks.release(conversation_id)
            raise


def _write_memo(directory: Path, state: State, parts: Sequence[Part]) -> None:
    with contextlib.suppress(OSError, ValueError, OverflowError):  # the last: of an integer of more than 64 bits
        write_memo(directory, state, parts)


def _share(origin: Path, fork: str, at: int, replay: Callable[[Event], None]) -> list[Part]:
    """Return the first `at` records of a conversation, for its fork; for a thread. Raises the errors of
    `FileStore.fork`.
    """
    if not _is_there(origin):
        raise ConversationMissing(origin.name)
    parts = read_log(origin, replay, outlines=True, upto=at)
    if (last := parts[-1].last) < at:
        raise EventRefused(f"no event {at} to fork from: there are {last}")
    adopt(origin, fork)
    return parts


def conversations(root: Path) -> Iterator[Path]:
    """Return the directories of the conversations in a store, newest first; for a thread."""
    found = sorted(root.glob(f"conversations/*/{EVENTS}"), key=lambda path: path.stat().st_mtime, reverse=True)
    return (path.parent for path in found if not is_deleted(path.parent))


def _read(directory: Path, replay: Callable[[Event], None], recall: Callable[[State], None] | None) -> list[Part]:
    """Read a log that is about to be written, and make it durable if it may not be; for a thread.

    Raises `ConversationMissing`, `LogCorrupt` or `OSError`.
    """
    path = directory / EVENTS
    if recall is not None and (found := read_memo(directory)) is not None:
        state, parts = found
        recall(state)
        if path.stat().st_size == parts[-1].ends[-1]:
            return parts
        read_on(parts[-1], replay, outlines=True)
    else:
        parts = read_whole_log(directory, replay, outlines=True)
    if not parts[-1].ends:
        raise ConversationMissing(directory.name)
    settle(path, parts[-1].ends[-1])
    return parts


def _is_there(directory: Path) -> bool:
    return (directory / EVENTS).exists() and not is_deleted(directory)


def read_conversation(directory: Path, upto: int | None = None) -> list[Event]:
    """Return all events of a conversation, or those up to a seq, without its lock and without changes; for a thread.

    Raises `ConversationMissing` or `LogCorrupt`.
    """
    events: list[Event] = []
    try:
        if upto is None:
            read_whole_log(directory, events.append)
        else:
            read_log(directory, events.append, upto=upto)
    except FileNotFoundError as error:
        raise ConversationMissing(directory.name) from error
    return events
