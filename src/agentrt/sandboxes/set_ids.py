"""Clears set-user-ID bits that a container left in the workspace: on this machine they give its user's rights away."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

_BITS = stat.S_ISUID | stat.S_ISGID
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


DEPTH = 400
"""Maximum depth of directories that are searched: each level takes a descriptor."""


def clear_set_ids(root: str) -> int:
    """Clear the set-user-ID and set-group-ID bits of files below a directory; return how many had one. For a thread.

    Paths are walked by descriptor and links are not followed, so a program that moves files meanwhile cannot lead out
    of the directory. Files that cannot be opened or belong to another user, and other file systems, are left alone.
    Raises `OSError` if the directory cannot be opened.
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
    try:  # other file systems are left alone
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
