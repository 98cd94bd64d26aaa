"""Zip archives of directories, made while they are sent: nothing is stored, and only one piece is in memory."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import WorkspaceError
from ..sandboxes.beneath import Beneath, children
from ..sandboxes.entries import printable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ENTRIES = 100_000
"""Maximum number of files and directories in an archive: it ends with a list of them, which is kept in memory. Their
sizes are not limited.
"""

_PIECE = 256 * 1024
_FLUSH = 64 * 1024


class _Sink:
    """The file that zipfile writes to; it cannot seek."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        parts, self._parts, self.size = self._parts, [], 0
        return b"".join(parts)


def measure(tree: Beneath, path: str) -> None:
    """Check that a directory can become an archive. For a thread. Raises `WorkspaceError` if it is too large or is no
    directory.
    """
    for entries, _ in enumerate(_below(tree, path), 1):
        if entries > ENTRIES:
            detail = f"an archive has {ENTRIES} entries at most: take a directory below, or files"
            raise WorkspaceError("archive-too-large", detail)


def archive(tree: Beneath, path: str) -> Generator[bytes]:
    """Yield the bytes of the archive of a directory. For a thread. Links, devices and the like are left out.

    A file that changes meanwhile is archived as it is read; one that is gone is left out. Raises `WorkspaceError` if
    the directory has grown too large.
    """
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as made:  # type: ignore[call-overload]
        for entries, (inner, name, found) in enumerate(_below(tree, path), 1):
            if entries > ENTRIES:
                raise WorkspaceError("archive-too-large", "it grew while it was read")
            info = zipfile.ZipInfo(printable(name), _date(found.st_mtime))
            info.external_attr = (found.st_mode & 0xFFFF) << 16
            if stat.S_ISDIR(found.st_mode):
                info.filename += "/"
                made.writestr(info, b"")
                continue
            try:
                file = tree.open(inner)
            except WorkspaceError:
                continue  # gone, or something else by now
            info.compress_type = zipfile.ZIP_DEFLATED
            with closing(file), made.open(info, "w", force_zip64=True) as entry:
                while piece := file.read(_PIECE):
                    entry.write(piece)
                    if sink.size >= _FLUSH:
                        yield sink.take()
    yield sink.take()


class ArchiveFile(io.RawIOBase):
    """The archive of a directory as a file whose bytes are made when they are read. For a thread."""

    def __init__(self, tree: Beneath, path: str) -> None:
        """Raises `WorkspaceError` if the directory is too large or is not a directory."""
        self._pieces, self._rest = archive(tree, path), memoryview(b"")
        measure(tree, path)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Make bytes that fit into a buffer; return how many, 0 at the end. Raises as `archive` does."""
        into = memoryview(buffer).cast("B")
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(into), len(self._rest))
        into[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        """Stop making the archive."""
        if not self.closed:
            self._pieces.close()
        super().close()


def _below(tree: Beneath, path: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield the files and directories below a directory: path in the workspace, name in the archive, and status."""
    waiting = [(path.strip("/"), "")]
    while waiting:
        here, inside = waiting.pop()
        try:
            with tree.directory(here) as descriptor:
                found = sorted(children(descriptor), key=lambda child: child[0])
        except WorkspaceError:
            if not inside:
                raise
            continue  # gone meanwhile, or not readable
        for name, status in found:
            inner, shown = f"{here}/{name}".strip("/"), f"{inside}{name}"
            if stat.S_ISDIR(status.st_mode):
                waiting.append((inner, f"{shown}/"))
            if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
                yield inner, shown, status


def _date(seconds: float) -> tuple[int, int, int, int, int, int]:
    """Return a time as zip has it: in UTC, limited to the years 1980 to 2107."""
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return (1980, 1, 1, 0, 0, 0)
    return (min(max(time.year, 1980), 2107), time.month, time.day, time.hour, time.minute, time.second)
