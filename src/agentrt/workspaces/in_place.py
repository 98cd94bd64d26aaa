"""Writing a file with several names (hard links) in its place, so that it stays one under all of them."""

from __future__ import annotations

import io
import os
import stat
from contextlib import suppress

_UPDATE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def rewritten_in_place(name: str, parent: int, data: bytes, bits: int) -> bool:
    """Write a file that has more names than one, in the directory `parent`; of its mode it keeps these bits.

    False where it has one name, or may not be written: a store of files that nobody may change has such. Where the
    writing fails the file is as it was, as far as the disk lets it be. Raises `OSError`.
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
        if not _has_others(found):  # another has taken its place
            return False
        was = file.readall()
        try:
            _fill(file, data)
        except BaseException:
            with suppress(OSError):
                _fill(file, was)
            raise
        mode = stat.S_IMODE(found.st_mode) & bits
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # a write takes set-user-id bits away
            with suppress(PermissionError):  # it is another user's
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
