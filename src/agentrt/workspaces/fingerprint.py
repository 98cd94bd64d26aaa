"""Detects whether the files of a workspace may have changed since the last look, without git."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from hashlib import blake2b
from typing import TypeAlias

FEW = 500
"""Maximum number of files and directories looked at; with more, git is as fast."""

RECENT = 50_000_000
"""Nanoseconds within which a file may change twice and keep the same times."""


Identity: TypeAlias = tuple[int, int]
"""The device and the number of a directory, whatever it is called."""


def identity_of(directory: str) -> Identity | None:
    """Return which directory this is; None if there is none."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def fingerprint(root: str, apart_from: Collection[str], most: int = FEW) -> bytes | None:
    """Return a digest of the names, kinds, sizes and times of everything below a directory, except what is in `.git`,
    or at or below the paths `apart_from`, which are relative to the directory. For a thread.

    None if there are more than `most` entries, if something changed so recently that another change might not show, or
    if something cannot be read.
    """
    found, now, seen = blake2b(), time.time_ns(), 0
    waiting = [""]
    try:
        while waiting:
            place = waiting.pop()
            with os.scandir(f"{root}/{place}") as entries:
                for entry in sorted(entries, key=lambda one: one.name):
                    path, seen = f"{place}{entry.name}", seen + 1
                    if path in apart_from:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if seen > most or status.st_ctime_ns > now - RECENT:
                        return None
                    facts = (status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
                    found.update(f"{path}\0{facts}\0".encode("utf-8", "surrogateescape"))
                    if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                        waiting.append(f"{path}/")
    except OSError:
        return None
    return found.digest()


def changed_since(root: str, moment: int, apart_from: Collection[str]) -> bool:
    """Return whether anything below a directory may have changed since a moment, in nanoseconds, except `.git` and what
    is at or below the paths `apart_from`, which are relative to the directory. For a thread.
    """
    waiting = [""]
    try:
        while waiting:
            place = waiting.pop()
            if os.stat(f"{root}/{place}").st_ctime_ns > moment - RECENT:
                return True
            with os.scandir(f"{root}/{place}") as entries:
                for entry in entries:
                    path = f"{place}{entry.name}"
                    if path in apart_from or entry.name == ".git":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{path}/")
                    elif entry.stat(follow_symlinks=False).st_ctime_ns > moment - RECENT:
                        return True
    except OSError:
        return True
    return False
