"""`ObjectJournal`: objects of a git directory that are in one file together, until git needs each in a file of its own.

Many small files cannot be synced at once, and cost more than their bytes. So new objects go into a journal, whose one
sync makes all of them durable. Before git runs, what the journal has is written to the files where git looks
(gitrepository-layout(5), "objects"). For a thread.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from secrets import token_hex
from struct import Struct

from ..storage import sync_directory, sync_file_system

JOURNAL = "unsynced"
MOST_UNSYNCED = 4 << 20
"""Bytes of a journal; beyond, its objects get files, which are synced."""

_HEAD = Struct(">20sI")
"""Of an object in the journal: its id, and the number of bytes that follow."""

_NONE = (0, 0, 0)
"""Stands for the identity of a journal that is not there."""


class ObjectJournal:
    """The journal of one git directory. Only one process at a time appends to it; others may read."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._file = directory, directory / JOURNAL
        self._waiting = dict[str, tuple[int, int]]()
        """Where the objects begin that have no file yet, and their lengths."""
        self._known = _NONE
        """What identified the journal when all that it has had a file, or was in `_waiting`."""
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        """Return whether an object is here, and has no file yet."""
        return name in self._waiting

    def read(self, name: str) -> bytes | None:
        """Return the compressed bytes of an object that has no file yet; None if there is none."""
        with self._lock:
            if (place := self._waiting.get(name)) is None:
                return None
            with self._file.open("rb") as file:
                file.seek(place[0])
                return file.read(place[1])

    def append(self, objects: Mapping[str, bytes]) -> None:
        """Make objects durable, whose bytes are compressed. Raises `OSError`; then none of them is here."""
        parts = [_HEAD.pack(bytes.fromhex(name), len(body)) + body for name, body in objects.items()]
        with self._lock:
            at, self._known = self._append(b"".join(parts))
            for name, body in objects.items():
                self._waiting[name] = (at + _HEAD.size, len(body))
                at += _HEAD.size + len(body)
            if at > MOST_UNSYNCED:
                self._settle()

    def write_files(self) -> None:
        """Write the file of each object that has none, also of those that another process has appended."""
        with self._lock:
            self._write_waiting()
            if (now := self._identity()) != self._known:
                replay(self._directory)
                self._known = now

    def settle(self) -> None:
        """Write and sync the file of each object, and remove the journal. Only for the one process that appends."""
        with self._lock:
            self._settle()

    def _write_waiting(self) -> None:
        if self._waiting:
            data = self._file.read_bytes()
            for name, (at, length) in self._waiting.items():
                _put(self._directory, name, data[at : at + length])
            self._waiting.clear()

    def _settle(self) -> None:
        self._write_waiting()
        if self._identity() != _NONE:
            replay(self._directory)
            descriptor = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
            try:
                sync_file_system(descriptor)
            finally:
                os.close(descriptor)
            self._file.unlink()
        self._known = _NONE

    def _identity(self) -> tuple[int, int, int]:
        try:
            return _identity_of(os.stat(self._file))
        except FileNotFoundError:
            return _NONE

    def _append(self, data: bytes) -> tuple[int, tuple[int, int, int]]:
        """Append durably; return where, and what identifies the journal then."""
        new = self._known == _NONE
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            try:
                written = 0
                while written < len(data):
                    written += os.write(descriptor, data[written:])
                os.fdatasync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, before)  # what is behind half an object would not be found
                raise
            now = _identity_of(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        if new:
            sync_directory(self._directory)
        return before, now


def _identity_of(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def replay(directory: Path) -> None:
    """Write the file of each object in the journal of a directory, unless it is there with the same bytes."""
    for name, body in _unsynced(directory):
        file = file_of(directory, name)
        try:
            if file.read_bytes() == body:
                continue
            file.unlink()
        except FileNotFoundError:
            pass
        _put(directory, name, body)


def _unsynced(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the objects of a journal, up to what a crash has cut."""
    try:
        data = (directory / JOURNAL).read_bytes()
    except FileNotFoundError:
        return
    at = 0
    while at + _HEAD.size <= len(data):
        name, length = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        at += _HEAD.size + length
        try:
            if sha1(zlib.decompress(body), usedforsecurity=False).digest() != name:
                return
        except zlib.error:
            return
        yield name.hex(), body


def _put(directory: Path, name: str, body: bytes) -> None:
    file = file_of(directory, name)
    file.parent.mkdir(exist_ok=True)
    made = file.with_name(f"tmp_obj_{token_hex(8)}")
    made.write_bytes(body)
    made.chmod(0o444)
    made.rename(file)


def file_of(directory: Path, name: str) -> Path:
    """Return the path of an object's own file."""
    return directory / "objects" / name[:2] / name[2:]
