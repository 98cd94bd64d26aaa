"""`Inotify`: the kernel tells which entries of some directories have changed (inotify(7)).

The C library is called directly: the packages that wrap it start programs to find it.
"""

from __future__ import annotations

import os
import struct

import msgspec

from ..loading import checked, libc

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
OVERFLOW, IGNORED = 0x4000, 0x8000
ONLY_DIRECTORY, NOT_THROUGH_LINKS, NOT_AFTER_REMOVAL = 0x01000000, 0x02000000, 0x04000000
IS_DIRECTORY = 0x40000000

OF_FILES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE
"""Events of files; those of a directory have `IS_DIRECTORY`, too."""

_MASK = OF_FILES | ONLY_DIRECTORY | NOT_THROUGH_LINKS | NOT_AFTER_REMOVAL
_HEAD = struct.Struct("iIII")
_AT_ONCE = 1 << 18
"""Bytes that are read at once."""


class Told(msgspec.Struct, frozen=True):
    """One event: the number of the directory, what happened there, and to which entry."""

    directory: int
    mask: int
    name: str


class Inotify:
    """One queue of the kernel, with the directories that are watched. Its calls do not block; raises `OSError`."""

    def __init__(self) -> None:
        self._descriptor = checked(libc().inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))

    def add(self, path: str) -> int:
        """Watch a directory, not one that a link leads to; return its number. One directory has one number."""
        return checked(libc().inotify_add_watch(self._descriptor, os.fsencode(path), _MASK))

    def remove(self, directory: int) -> None:
        """Watch a directory no longer."""
        libc().inotify_rm_watch(self._descriptor, directory)  # it may have been removed, which tells itself

    def read(self) -> list[Told]:
        """Return what has happened."""
        found = list[Told]()
        while True:
            try:
                data = os.read(self._descriptor, _AT_ONCE)
            except BlockingIOError:
                return found
            at, last = 0, len(data) < _AT_ONCE // 2
            while at < len(data):
                directory, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                found.append(
                    Told(directory, mask, data[at : at + length].rstrip(b"\0").decode("utf-8", "surrogateescape"))
                )
                at += length
            if last:
                return found

    def close(self) -> None:
        """Watch nothing any more."""
        os.close(self._descriptor)
