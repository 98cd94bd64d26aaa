"""How many files of a workspace are kept, and how much of what is ignored. For a thread, as all here reads the disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..errors import WorkspaceError


class Most(msgspec.Struct, frozen=True):
    """How much is kept: a workspace with more is not, and what is ignored is left out where it is more: `node_modules`,
    what a build made.
    """

    files: int = 100_000
    bytes: int = 2 << 30
    """Of the files that one tree adds."""
    stored: int = 4 << 30
    """Bytes that all trees together have, before they are compressed."""
    ignored_files: int = 10_000
    ignored_bytes: int = 256 << 20


def check_place(workspace: str) -> None:
    """Raise `WorkspaceError` for a home directory, or one that holds it."""
    place, home = Path(os.path.realpath(workspace)), Path(os.path.realpath(Path.home()))
    if place == home or place in home.parents:
        raise WorkspaceError("too-many-files", f"{workspace} is a home directory, or holds one")


def check_size(directory: str, paths: Sequence[str], most: Most, stored: int) -> int:
    """The bytes that are stored once these files are, too. Raises `WorkspaceError` where it is too much."""
    if len(paths) > most.files:
        raise WorkspaceError("too-many-files", f"{directory} has more than {most.files:,}")
    added = _bytes(directory, paths, most.bytes)
    if added > most.bytes:
        raise WorkspaceError("too-many-files", f"those of {directory} have more than {most.bytes:,} bytes")
    if stored + added > most.stored:
        raise WorkspaceError("too-many-files", f"all that was kept of {directory} has more than {most.stored:,} bytes")
    return stored + added


def is_little(directory: str, ignored: Sequence[str], most: Most) -> bool:
    """Whether files that are ignored are kept, too."""
    few = len(ignored) <= most.ignored_files
    return few and _bytes(directory, ignored, most.ignored_bytes) <= most.ignored_bytes


def _bytes(directory: str, paths: Sequence[str], most: int) -> int:
    """The bytes of files, added up until they are more than enough."""
    total = 0
    for path in paths:
        try:
            total += os.lstat(f"{directory}/{path}").st_size
        except OSError:
            continue  # gone meanwhile
        if total > most:
            break
    return total
