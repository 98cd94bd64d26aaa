"""Set-user-id bits that a container leaves in the workspace: on this machine they would give its user's rights away."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

_BITS = stat.S_ISUID | stat.S_ISGID
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


DEPTH = 400
"""Directories below one another that are looked into: each takes a descriptor."""


def clear_set_ids(root: str) -> int:
    """Take the set-user-id and set-group-id bits from the files below a directory; how many had one. For a thread.

    Files are opened by descriptor and links are not followed, so nobody who moves things meanwhile leads out. What
    cannot be opened, or belongs to another, keeps its bits. Raises `OSError` where the directory cannot be opened.
    """
    directory = os.open(root, _DIRECTORY & ~os.O_NOFOLLOW)
    try:
        return _clear(directory, os.fstat(directory).st_dev, DEPTH)
    finally:
        os.close(directory)


def _clear(directory: int, device: int, depth: int) -> int:
    cleared, below = 0, list[str]()
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mode & _BITS:
                    cleared += _clear_file(entry.name, directory)
    for name in below if depth else ():
        with suppress(OSError):
            cleared += _clear_directory(name, directory, device, depth - 1)
    return cleared


def _clear_directory(name: str, parent: int, device: int, depth: int) -> int:
    directory = os.open(name, _DIRECTORY, dir_fd=parent)
    try:  # not on another file system
        return _clear(directory, device, depth) if os.fstat(directory).st_dev == device else 0
    finally:
        os.close(directory)


def _clear_file(name: str, directory: int) -> int:
    descriptor = os.open(name, _FILE, dir_fd=directory)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) or not mode & _BITS:
            return 0
        os.fchmod(descriptor, stat.S_IMODE(mode) & ~_BITS)
        return 1
    finally:
        os.close(descriptor)
