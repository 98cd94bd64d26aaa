"""`FileJournal`: one conversation's `events.jsonl`, for its only writer."""

from __future__ import annotations

import os
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import anyio.to_thread

from ..codec import decode
from ..errors import LogCorrupt
from ..events import ConversationCreated, Event
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

    async def append(self, events: Sequence[Event]) -> None:
        """Write a batch; durable when this returns. Raises `LogFailed`."""
        lines = frame(events, durable=len(self._ends))
        await self._writer.commit(self._file, b"".join(lines))
        end = self._ends[-1] if self._ends else 0
        for line in lines:
            end += len(line)
            self._ends.append(end)

    async def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        """The events after seq `after`, up to `upto`, a page at a time."""
        upto = min(upto, len(self._ends))
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

    def close(self) -> None:
        """Close the file."""
        self._file.close()


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


def set_torn_tail_aside(path: Path, length: int, tail: bytes) -> Path:
    """Keep a torn tail in a file of its own, then cut the log to `length` bytes; for a thread. Raises `OSError`."""
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    with aside.open("xb") as file:
        file.write(tail)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())
    return aside
