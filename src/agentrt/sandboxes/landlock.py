"""Landlock: a process gives up the files that it is not shown, for itself and all that it starts (landlock(7)).

The zygote loads this file by itself: it imports nothing of the package.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

READ, WRITE = "read", "write"

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_OPEN, _NO_LINKS = 437, 4
"""openat2(2), and its flag RESOLVE_NO_SYMLINKS."""

_VERSION, _BENEATH = 1, 1
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_FIRST_VERSION = (1 << 13) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CONTROL
_READING = _EXECUTE | _READ_FILE | _READ_DIRECTORY

_library = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return the version of Landlock on this machine, 0 if there is none. 3 holds truncation, 6 signals."""
    return max(0, int(_library.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)))


def restrict(shown: Iterable[tuple[bytes, str]] | None) -> None:
    """Keep this process to the paths that are `shown`, without links in them, each with `READ` or `WRITE`, and from the
    sockets without a path and the signals of others. None: only from those sockets, from making devices, and from
    tracing others. What this system cannot hold is left out. Raises `OSError`.
    """
    has = version()
    if not has:
        if shown is not None:
            raise OSError(38, os.strerror(38), "Landlock")
        return
    handled, scoped = _MAKE_CHARACTER_DEVICE, _ABSTRACT_SOCKETS if has >= 6 else 0
    if shown is not None:
        more = ((2, _REFER), (3, _TRUNCATE), (5, _DEVICE_CONTROL))
        handled = _FIRST_VERSION | sum(bit for since, bit in more if has >= since)
        scoped |= _SIGNALS if has >= 6 else 0
    attributes = (ctypes.c_uint64 * 3)(handled, 0, scoped)
    size = ctypes.c_size_t(24 if has >= 6 else 8)
    rules = _checked(_library.syscall(_CREATE, ctypes.byref(attributes), size, 0), "Landlock")
    writing = handled & ~_MAKE_CHARACTER_DEVICE & ~_MAKE_BLOCK_DEVICE
    for path, access in shown or ():
        _allow(rules, path, writing if access == WRITE else handled & _READING)
    _checked(_library.syscall(_RESTRICT, rules, 0), "Landlock")
    os.close(rules)


def _allow(rules: int, path: bytes, rights: int) -> None:
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    place = int(_library.syscall(_OPEN, -100, path, ctypes.byref(how), ctypes.c_size_t(24)))
    if place < 0:
        return  # it is gone, or a program has put a link on the way to it
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _OF_FILES
    rule = (ctypes.c_uint32 * 3)(rights & 0xFFFFFFFF, rights >> 32, place)
    _checked(_library.syscall(_ADD_RULE, rules, _BENEATH, ctypes.byref(rule), 0), os.fsdecode(path))
    os.close(place)


def _checked(result: int, doing: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), doing)
    return result
