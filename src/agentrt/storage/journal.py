"""`FileJournal`: one conversation's `events.jsonl`, for its only writer."""

from __future__ import annotations

import os
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from ..codec import decode
from ..errors import LogCorrupt, LogFailed
from ..events import ConversationCreated, Event
from ..protocols import Committed
from ..specs import BlobReference
from .blobs import write_blob
from .framing import frame, scan
from .writer import LogFile, Writer, sync_directory

EVENTS = "events.jsonl"
BLOBS = "blobs"
PAGE = 256
"""Events read from the file at once."""


class FileJournal:
    """Appends framed batches through the writer, and reads events back by seq."""

    def __init__(self, directory: Path, writer: Writer, ends: array[int], *, new: bool) -> None:
        self._directory, self._writer = directory, writer
        self._file = LogFile(directory / EVENTS, new=new)
        self._ends = ends
        """Where the record of each seq ends in the file."""
        self._durable = len(ends)

    def append(self, events: Sequence[Event], then: Committed) -> None:
        """Begin to write a batch; `then` is told once it is durable, or why not."""
        lines = frame(events, durable=self._durable)
        end = self._ends[-1] if self._ends else 0
        for line in lines:
            end += len(line)
            self._ends.append(end)
        self._writer.commit(self._file, b"".join(lines), partial(self._committed, len(self._ends), then))

    def _committed(self, seq: int, then: Committed, error: LogFailed | None) -> None:
        if error is None:
            self._durable = seq
        then(error)

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """The events after seq `after`, up to `upto`, a page at a time."""
        upto = min(upto, self._durable)
        while after < upto:
            page = min(after + PAGE, upto)
            start = self._ends[after - 1] if after else 0
            lines = await anyio.to_thread.run_sync(_lines, self._file.path, start, self._ends[page - 1])
            for line in lines:
                yield decode(line)
            after = page

    async def keep(self, data: bytes, name: str) -> BlobReference:
        """Store bytes beside the log. Raises `LogFailed`."""
        return await anyio.to_thread.run_sync(write_blob, self._directory / BLOBS, data, name)

    async def close(self) -> None:
        """Close the file, once what was given to it is written."""
        await self._writer.close_file(self._file)


def _lines(path: Path, start: int, end: int) -> list[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start).splitlines(keepends=True)


def read_events(path: Path, replay: Callable[[Event], None]) -> tuple[array[int], bytes]:
    """Give all good events of a log file to `replay`; for a thread, since it blocks.

    Returns where each record ends, and the torn tail. Raises `LogCorrupt`; the file is only read.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    good = scan(lines, path).good
    ends: array[int] = array("Q")
    end, version = 0, None
    for number, line in enumerate(lines[:good], 1):
        try:
            event = decode(line) if version is None else decode(line, version)
        except (ValueError, UnicodeDecodeError) as error:
            raise LogCorrupt(path, number, f"not an event of this schema ({error})") from error
        if isinstance(event, ConversationCreated):
            version = event.schema_version
        replay(event)
        end += len(line)
        ends.append(end)
    return ends, b"".join(lines[good:])


def settle(path: Path, length: int, tail: bytes) -> None:
    """Make a log that another process left durable up to `length`, with its torn tail set aside; for a thread.

    What was read may so far be in the page cache only, and is about to be shown. Raises `OSError`.
    """
    if tail:
        with _aside(path).open("xb") as file:
            file.write(tail)
            file.flush()
            os.fsync(file.fileno())
        sync_directory(path.parent)
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())
    sync_directory(path.parent)
    sync_directory(path.parent.parent)


def clear(path: Path) -> bool:
    """Set aside a log whose creation was cut, so that its name is free; for a thread.

    Says whether the name is free. Raises `LogCorrupt`, or `OSError`.
    """
    if not path.exists():
        return True
    ends, tail = read_events(path, lambda event: None)
    if ends:
        return False
    if tail:
        path.rename(_aside(path))
    else:
        path.unlink()
    return True


def _aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    return aside
