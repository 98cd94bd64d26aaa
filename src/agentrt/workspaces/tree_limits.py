"""Limits for the files kept of a workspace, and for its ignored files. For a thread: the functions read the disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..errors import WorkspaceError

MANY = 500
"""Files from which on git stores them faster in one pack than each in a file of its own."""


class Most(msgspec.Struct, frozen=True):
    """How much is kept. A larger workspace is not kept; ignored files, such as `node_modules` and build output, are
    left out if they exceed their own limits.
    """

    files: int = 100_000
    bytes: int = 2 << 30
    """Bytes of the files that one tree adds."""
    stored: int = 4 << 30
    """Bytes of all trees together, before compression."""
    ignored_files: int = 10_000
    ignored_bytes: int = 256 << 20


def check_place(workspace: str) -> None:
    """Raise `WorkspaceError` for the home directory, or a directory that contains it."""
    place, home = Path(os.path.realpath(workspace)), Path(os.path.realpath(Path.home()))
    if place == home or place in home.parents:
        raise WorkspaceError("too-many-files", f"{workspace} is a home directory, or holds one")


def check_size(directory: str, paths: Sequence[str], most: Most, stored: int) -> int:
    """Return the bytes that are stored once these files are added. Raises `WorkspaceError` if a limit is exceeded."""
    if len(paths) > most.files:
        raise WorkspaceError("too-many-files", f"{directory} has more than {most.files:,}")
    added = _bytes(directory, paths, most.bytes)
    if added > most.bytes:
        raise WorkspaceError("too-many-files", f"those of {directory} have more than {most.bytes:,} bytes")
    if stored + added > most.stored:
        raise WorkspaceError("too-many-files", f"all that was kept of {directory} has more than {most.stored:,} bytes")
    return stored + added


def is_little(directory: str, ignored: Sequence[str], most: Most) -> bool:
    """Return whether the ignored files are few and small enough to be kept."""
    few = len(ignored) <= most.ignored_files
    return few and _bytes(directory, ignored, most.ignored_bytes) <= most.ignored_bytes


def _bytes(directory: str, paths: Sequence[str], most: int) -> int:
    """Return the total size of files; stop adding once it exceeds `most`."""
    total = 0
    for path in paths:
        try:
            total += os.lstat(f"{directory}/{path}").st_size
        except OSError:
            continue  # gone meanwhile
        if total > most:
            break
    return total
