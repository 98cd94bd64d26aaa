"""Writes a file with several names (hard links) in place, so that it stays the same file under all of them."""

from __future__ import annotations

import io
import os
import stat
from contextlib import suppress

_UPDATE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def rewritten_in_place(name: str, parent: int, data: bytes, bits: int) -> bool:
    """Write a file that has several names, in the directory `parent`; it keeps these `bits` of its mode.

    Return False if it has one name or may not be written, like the files of a store that nobody may change. If the
    writing fails, the file gets its old content back, as far as the disk allows. Raises `OSError`.
    """
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not _has_others(found):
            return False
        descriptor = os.open(name, _UPDATE, dir_fd=parent)
    except (FileNotFoundError, PermissionError):
        return False
    with open(descriptor, "r+b", buffering=0) as file:
        found = os.fstat(descriptor)
        if not _has_others(found):  # another file has taken its place
            return False
        was = file.readall()
        try:
            _fill(file, data)
        except BaseException:
            with suppress(OSError):
                _fill(file, was)
            raise
        mode = stat.S_IMODE(found.st_mode) & bits
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # a write removes set-user-id bits
            with suppress(PermissionError):  # the file belongs to another user
                os.fchmod(descriptor, mode)
    return True


def _has_others(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _fill(file: io.FileIO, data: bytes) -> None:
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()
