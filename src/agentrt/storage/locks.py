"""One writer for each conversation, across processes: byte-range locks on one file of the store.

They are open-file-description locks (`F_OFD_SETLK`, Linux 3.15), which the kernel frees with the process. Each
conversation has a byte, at an offset derived from its id; the file itself stays empty.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from pathlib import Path

from ..errors import LogLocked

_FLOCK = "hhqqi4x"  # struct flock on 64-bit Linux: l_type, l_whence, l_start, l_len, l_pid


def is_held(path: Path, name: str) -> bool:
    """Return whether any process holds the writer's lock of `name` in the store of this lock file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _range(fcntl.F_WRLCK, name))
        return int(struct.unpack(_FLOCK, found)[0]) != fcntl.F_UNLCK
    finally:
        os.close(file)


def _range(kind: int, name: str) -> bytes:
    offset = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 2
    return struct.pack(_FLOCK, kind, os.SEEK_SET, offset, 1, 0)


class Locks:
    """The locks that this process holds in one store."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._held: set[str] = set()

    def acquire(self, name: str) -> None:
        """Lock `name` for writing. Raises `LogLocked` if it is locked, by this or another process."""
        if name in self._held:
            raise LogLocked(name)
        try:
            self._set(fcntl.F_WRLCK, name)
        except BlockingIOError:
            raise LogLocked(name) from None
        self._held.add(name)

    def release(self, name: str) -> None:
        """Release the lock of `name`."""
        if name in self._held:
            self._held.remove(name)
            self._set(fcntl.F_UNLCK, name)

    def close(self) -> None:
        """Release all locks."""
        os.close(self._file)
        self._held.clear()

    def _set(self, kind: int, name: str) -> None:
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _range(kind, name))
