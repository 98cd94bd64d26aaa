"""`listed`: what is in a directory, read again only if the directory has changed; for a thread.

Conversations in one workspace look for instructions in the same directories, of which there may be thousands.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from functools import cached_property

from ..workspaces.fingerprint import Identity

RECENT = 2_500_000_000
"""Nanoseconds within which a directory may change twice and keep the same time: some file systems count in seconds."""

MOST_KEPT = 50_000
"""Entries of all directories that are remembered."""


class Entry:
    """One entry of a directory."""

    __slots__ = ("is_directory", "is_link", "name", "path")

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name, self.path = entry.name, entry.path
        self.is_link = entry.is_symlink()
        self.is_directory = entry.is_dir(follow_symlinks=False)

    def leads_to_directory(self) -> bool:
        """Return whether it is a directory, or a link to one."""
        return self.is_directory or (self.is_link and os.path.isdir(self.path))


class Listing:
    """The entries of a directory, sorted by name."""

    def __init__(self, entries: list[Entry], identity: Identity = (0, 0)) -> None:
        self.entries, self.identity = entries, identity

    @cached_property
    def names(self) -> dict[str, str]:
        """Each name, by its lower case."""
        return {entry.name.lower(): entry.name for entry in self.entries}

    @cached_property
    def directories(self) -> list[Entry]:
        """The directories that are no links."""
        return [entry for entry in self.entries if entry.is_directory]


EMPTY = Listing([])

_Stamp = tuple[int, int, int, int]
_kept = OrderedDict[str, tuple[_Stamp, Listing]]()
_count = 0
_lock = threading.Lock()


def listed(directory: str) -> Listing:
    """Return what is in a directory. Raises `OSError`."""
    global _count
    now, stamp = time.time_ns(), _stamp(directory)
    with _lock:
        if (kept := _kept.get(directory)) is not None and kept[0] == stamp:
            _kept.move_to_end(directory)
            return kept[1]
    with os.scandir(directory) as entries:
        found = Listing([Entry(one) for one in sorted(filter(_has_name, entries), key=lambda one: one.name)], stamp[:2])
    if max(stamp[2:]) < now - RECENT:
        with _lock:
            _, before = _kept.pop(directory, (stamp, EMPTY))
            _kept[directory] = (stamp, found)
            _count += len(found.entries) + 1 - len(before.entries) - (before is not EMPTY)
            while _count > MOST_KEPT:
                _, (_, dropped) = _kept.popitem(last=False)
                _count -= len(dropped.entries) + 1
    return found


def _stamp(directory: str) -> _Stamp:
    status = os.stat(directory)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _has_name(entry: os.DirEntry[str]) -> bool:
    """Return whether a name is text; others cannot be in an event."""
    return entry.name.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in entry.name)
