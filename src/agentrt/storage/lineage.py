"""The records that conversations share, and the rest of a deleted conversation while its forks need it.

A fork is marked by an empty file in its parent's `forks/`, made before the fork itself. A deleted conversation with
forks keeps its records under a `deleted` mark, and is removed with the last fork. All functions are for a thread and
raise `OSError`.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from .blobs import BLOBS
from .disk import PRIVATE, sync_directory
from .reading import EVENTS, origin

FORKS = "forks"
DELETED = "deleted"


def adopt(parent: Path, child: str) -> None:
    """Record durably that `child` shares records with the conversation in `parent`, and make the child's directory."""
    forks = parent / FORKS
    if not forks.exists():
        forks.mkdir()
        sync_directory(parent)
    (forks / child).touch()
    sync_directory(forks)
    (parent.parent / child).mkdir(PRIVATE, exist_ok=True)


def forks(directory: Path) -> list[str]:
    """Return the conversations that share records with this one, including those in creation."""
    return sorted(mark.name for mark in (directory / FORKS).glob("*") if _shares(directory, mark.name))


def _shares(directory: Path, name: str) -> bool:
    child = directory.parent / name
    try:
        with (child / EVENTS).open("rb") as file:
            first = file.readline()
    except FileNotFoundError:
        return child.exists()
    if not first.endswith(b"\n"):
        return True  # its first batch is being written, or a crash has cut it
    shared = origin(first)
    return shared is not None and shared[0] == directory.name


def abandon(directory: Path, parent: Path | None) -> None:
    """Remove what was made for a conversation whose first batch failed, except for files of other origin."""
    shutil.rmtree(directory / BLOBS, ignore_errors=True)
    with suppress(OSError):  # it was not made, or has such files
        directory.rmdir()
    if parent is not None:
        (parent / FORKS / directory.name).unlink(missing_ok=True)


def is_deleted(directory: Path) -> bool:
    """Return whether the conversation was deleted and is kept only for its forks."""
    return (directory / DELETED).exists()


def delete(directory: Path) -> None:
    """Delete a conversation, or mark it as deleted while it has forks; then delete what only it kept of its parents."""
    (directory / DELETED).touch()
    sync_directory(directory)
    if forks(directory):
        return
    with (directory / EVENTS).open("rb") as file:
        shared = origin(file.readline())
    shutil.rmtree(directory)
    sync_directory(directory.parent)
    if shared is not None:
        parent = directory.parent / shared[0]
        (parent / FORKS / directory.name).unlink(missing_ok=True)
        if is_deleted(parent):
            delete(parent)
