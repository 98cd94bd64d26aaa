"""Making files what they were: what is written, what is removed, and what stays. For a thread, but for `apart`."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from ..errors import WorkspaceError
from .beneath import Beneath
from .tree_listing import Change


def apart(changes: Sequence[Change], keep: Collection[str]) -> tuple[list[Change], list[str]]:
    """The changes that are made, and the paths that are left: those to keep, and what cannot be beside those. Pure."""
    above = {str(parent) for path in keep for parent in PurePosixPath(path).parents}
    wanted, left = list[Change](), list[str]()
    for change in changes:
        below = any(str(parent) in keep for parent in PurePosixPath(change.path).parents)
        spared = change.path in keep or below or (change.path in above and change.status != "D")
        if spared:
            left.append(change.path)
        else:
            wanted.append(change)
    return wanted, left


def remove(workspace: str, changes: Sequence[Change]) -> set[str]:
    """Remove what goes, and the directories that are empty then; the paths where something is in the way."""
    beneath = Beneath(workspace)
    emptied = set[str]()
    for change in changes:
        if change.status == "D":
            with suppress(WorkspaceError):
                beneath.unlink(change.path)
            emptied.update(map(str, PurePosixPath(change.path).parents))
    for directory in sorted(emptied - {"."}, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(f"{workspace}/{directory}")
    paths = (change.path for change in changes if change.status != "D")
    return {
        path for path in paths if os.path.isdir(f"{workspace}/{path}") and not os.path.islink(f"{workspace}/{path}")
    }


def modes_of(workspace: str, paths: Sequence[str]) -> dict[str, int]:
    """The permissions of those that are files."""
    found = dict[str, int]()
    for path in paths:
        with suppress(OSError):
            status = os.lstat(f"{workspace}/{path}")
            if stat.S_ISREG(status.st_mode):
                found[path] = stat.S_IMODE(status.st_mode) & 0o777
    return found


def set_modes(workspace: str, modes: Mapping[str, int], changes: Sequence[Change]) -> None:
    """Give files that were there before their permissions back, executable as they are to be."""
    for change in changes:
        mode = modes.get(change.path)
        if mode is None or not change.mode.startswith("100"):
            continue
        executable = (mode & 0o444) >> 2 if change.mode == "100755" else 0
        with suppress(OSError):
            descriptor = os.open(f"{workspace}/{change.path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fchmod(descriptor, (mode & ~0o111) | executable)
            finally:
                os.close(descriptor)
