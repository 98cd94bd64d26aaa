"""`FileJournal`: one conversation's `events.jsonl`, for its only writer."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from errno import EBADF
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias

import anyio.to_thread
import msgspec

from ..codec import encode
from ..errors import LogCorrupt, LogFailed
from ..events import Event
from ..specs import BlobReference
from ..specs.content import TEXT
from ..state import State
from ..storing import Committed
from .blobs import BLOBS, find_blob, write_blob
from .damage import error_of_empty
from .disk import sync_directory
from .framing import frame_json, scan
from .lineage import abandon
from .memos import MEMO, known_seq
from .reading import EVENTS, PAGE, Part, load, origin
from .snapshots import SNAPSHOT
from .writer import LogFile, Writer

_log = logging.getLogger(__name__)


FIRST_MEMO = 1024
"""Number of events from which a memo is stored while the log is written."""

Remember: TypeAlias = Callable[[Path, State, Sequence[Part]], None]
"""Stores a memo later."""


def _forget(directory: Path, state: State, parts: Sequence[Part]) -> None:
    """Store nothing."""


class Rest(msgspec.Struct, frozen=True):
    """What remains of a log after a failed write: `acknowledged` bytes, of which the first `kept` are not lost."""

    path: Path
    acknowledged: int
    kept: int

    def cut(self) -> None:
        """Cut the log behind these records; for a thread. Raises `OSError`.

        Behind them are batches that were refused. The kernel may show them though it dropped them, so the next writer
        must not take them for durable. Acknowledged records that may be lost are set aside: that concerns only logs
        whose acknowledged batches are synced later.
        """
        size = self.path.stat().st_size
        if size > self.acknowledged:
            os.truncate(self.path, self.acknowledged)  # without a copy: there may be no space for it
        settle(self.path, min(self.kept, size))


class FileJournal:
    """Appends framed batches through the writer, and reads events back by seq.

    The records of a fork follow those of the `parts` that it shares with its parents. `kept` is the number of bytes
    beside the log.
    """

    def __init__(
        self,
        directory: Path,
        writer: Writer,
        parts: Sequence[Part],
        remember: Remember = _forget,
        *,
        new: bool,
        kept: int = 0,
    ) -> None:
        self.directory, self._writer = directory, writer
        self._parts, self._own = tuple(parts[:-1]), parts[-1]
        self.seen = self._own.last
        """The last seq that was acknowledged."""
        self._file = LogFile(directory / EVENTS, new=new, seq=self.seen, disk=writer.disk)
        self._failed, self._closed, self._kept = False, False, kept
        self._pending = 0
        """Number of batches whose outcome was not reported yet."""
        self._refused = deque[Committed]()
        self._remember, self._next_memo = remember, max(2 * self.seen, FIRST_MEMO)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The files that have its records."""
        return (*self._parts, self._own)

    @property
    def size(self) -> int:
        """Bytes of the log's own file, including pending writes, and of the files beside it."""
        ends = self._own.ends
        return (ends[-1] if ends else 0) + self._kept

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        """Begin to write a batch, and return its JSON; `then` is called when it is durable, or with the error."""
        encoded = [encode(event) for event in events]
        if self._closed:
            self._refused.append(then)
            asyncio.get_running_loop().call_soon(self._refuse)
            return encoded
        lines, ends = frame_json(encoded, durable=self._file.synced), self._own.ends
        end = ends[-1] if ends else 0
        for line in lines:
            end += len(line)
            ends.append(end)
        seq = self._own.last
        self._pending += 1
        self._writer.commit(self._file, b"".join(lines), seq, partial(self._committed, seq, then))
        return encoded

    def _committed(self, seq: int, then: Committed, error: LogFailed | None) -> None:
        if error is None:
            self.seen = seq
        self._failed = error is not None
        self._pending -= 1
        then(error)
        if self._refused:
            self._refuse()

    def _refuse(self) -> None:
        """Report failure for batches appended after the end, once the outcome of all earlier ones was reported."""
        while self._refused and not self._pending:
            self._refused.popleft()(LogFailed(self._file.path, OSError(EBADF, "the journal was released")))

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """Return the events after seq `after`, up to `upto`, a page at a time. Raises `LogCorrupt`."""
        upto = min(upto, self.seen)
        while after < upto:
            page = min(after + PAGE, upto)
            for event in await self.load(range(after + 1, page + 1)):
                yield event
            after = page

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        """Return the events with these seqs, which must be ascending. Raises `LogCorrupt`."""
        return await anyio.to_thread.run_sync(load, self.parts, seqs)

    def remember(self, state: State) -> None:
        """Store the state of a log that has doubled, so that after a kill at most half of it is folded again."""
        if self._next_memo <= state.seq <= self._file.synced:
            self._next_memo = 2 * state.seq
            own = self._own
            shown = Part(own.path, own.after, own.ends[: state.seq - own.after])  # the rest is on its way
            self._remember(self.directory, state, (*self._parts, shown))

    async def sync(self) -> None:
        """Make all acknowledged events durable. Raises `LogFailed`."""
        await self._writer.sync_file(self._file)

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes beside the log. Raises `LogFailed`."""
        blob = await anyio.to_thread.run_sync(write_blob, self.directory / BLOBS, data, name, media_type)
        self._kept += len(data)
        return blob

    async def fetch(self, blob: BlobReference) -> bytes:
        """Return stored bytes, from here or from a parent of this fork. Raises `LogCorrupt`."""
        directories = [part.path.parent / BLOBS for part in self.parts]
        return await anyio.to_thread.run_sync(find_blob, directories, blob.sha256)

    @property
    def unused(self) -> bool:
        """Whether it is new and acknowledged no event, so that its conversation does not exist."""
        return self.seen == self._own.after

    @property
    def failed(self) -> bool:
        """Whether a write or a sync failed."""
        return self._file.failed is not None

    @property
    def rest(self) -> Rest:
        """Where the records end that a failed journal must leave in its file."""
        acknowledged, kept = (self._end_of(seq) for seq in (self.seen, min(self.seen, self._file.written)))
        return Rest(self._file.path, acknowledged, kept)

    def abandon(self) -> None:
        """Remove what an unused journal left, once it is closed; for a thread. Raises `OSError`."""
        if self._file.made:
            self._file.path.unlink(missing_ok=True)
        parent = self._parts[-1].path.parent if self._parts else None
        abandon(self.directory, parent)

    def _end_of(self, seq: int) -> int:
        """Return where a record ends in its own file."""
        return self._own.place(seq)[1] if seq > self._own.after else 0

    async def close(self) -> None:
        """Sync and close the file, after all pending writes. Raises a `LogFailed` that was not reported."""
        self._closed = True
        try:
            await self._writer.sync_file(self._file, close=True)
        except LogFailed:
            if not self._failed:
                raise


def kept(directory: Path) -> int:
    """Return the number of bytes beside the log of a conversation; for a thread."""
    try:
        with os.scandir(directory / BLOBS) as entries:
            return sum(entry.stat().st_size for entry in entries)
    except OSError:
        return 0


def settle(path: Path, length: int) -> None:
    """Make a log of another process durable up to `length`, and set aside its incomplete tail; for a thread.

    What was read may so far be only in the page cache, and is about to be shown. Raises `OSError`.
    """
    with path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) > length:
            file.seek(length)
            aside = _aside(path)
            _copy(file, aside)
            sync_directory(path.parent)
            _log.warning("%s: the bytes from %d on are not a whole batch and were set aside in %s", path, length, aside)
        file.truncate(length)
        os.fsync(file.fileno())
    sync_directory(path.parent)
    sync_directory(path.parent.parent)


def _copy(rest: BinaryIO, aside: Path) -> None:
    """Copy the rest of a log to a new file, as private as the log; if the disk is full, the copy is removed."""
    with open(aside, "xb", opener=partial(os.open, mode=0o600)) as tail:
        try:
            shutil.copyfileobj(rest, tail)
            tail.flush()
            os.fsync(tail.fileno())
        except OSError:
            aside.unlink()
            raise


def clear(path: Path) -> bool:
    """Set aside a log whose creation was interrupted, so that its name is free; for a thread.

    Returns whether the name is free. Raises `LogCorrupt`, or `OSError`.
    """
    if not path.exists():
        if path.parent.exists():  # what is cached there is of a log that was removed
            for cache in (MEMO, SNAPSHOT):
                path.with_name(cache).unlink(missing_ok=True)
        return True
    with path.open("rb") as file:
        shared = origin(file.readline())
        file.seek(0)
        if any(True for _ in scan(file, path, shared[1] if shared else 0)):
            return False
    if isinstance(error := error_of_empty(path.parent, known_seq(path.parent)), LogCorrupt):
        raise error
    if path.stat().st_size:
        path.rename(_aside(path))
    else:
        path.unlink()
    return True


def _aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    return aside
