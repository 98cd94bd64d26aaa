"""Structs that describe the files of a workspace, and what has changed in it."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import Literal

import msgspec


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file, directory, link or other entry at a path; `size` in bytes. A link is listed, not followed."""

    name: str
    path: str
    type: Literal["file", "directory", "link", "other"]
    size: int
    modified: datetime
    ignored: bool = False
    """Whether ignore files exclude it; known only for the current files."""


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a directory, directories first, then by name; `truncated` if not all are listed."""

    path: str
    items: tuple[FileEntry, ...]
    truncated: bool


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs between two places in the log, and who changed it in between, if that is known."""

    path: str
    status: Literal["added", "modified", "deleted"]
    by: tuple[Literal["agent", "people", "rewind", "unknown"], ...]


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes between the events `since` and `until`; `truncated` if not all are listed."""

    since: int
    until: int
    items: tuple[FileChange, ...]
    truncated: bool


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff between the files as they were after two events; cut if `truncated`."""

    diff: str
    truncated: bool


class GitChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs from the last commit; `origin` is the old path of a renamed file."""

    path: str
    status: Literal["added", "modified", "deleted", "renamed", "untracked", "conflicted"]
    origin: str | None = None


class GitChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes since the commit `head` (null: there is none yet) of `branch` (null: none is checked out)."""

    head: str | None
    branch: str | None
    items: tuple[GitChange, ...]
    truncated: bool


class GitDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff from the last commit to the current files, new files included; cut if `truncated`."""

    diff: str
    truncated: bool


_KINDS: dict[int, Literal["file", "directory", "link"]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
}


def entry_of(name: str, path: str, found: os.stat_result) -> FileEntry:
    """Return the entry of a file, from its status."""
    mode = found.st_mode
    return FileEntry(
        name=printable(name),
        path=printable(path),
        type=kind_of(mode),
        size=found.st_size if stat.S_ISREG(mode) else 0,
        modified=_time(found.st_mtime_ns),
    )


def kind_of(mode: int) -> Literal["file", "directory", "link", "other"]:
    """Return the kind of an entry, from its mode."""
    return _KINDS.get(stat.S_IFMT(mode), "other")


def printable(name: str) -> str:
    """Return a file's name as JSON and zip archives can have it: bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _time(nanoseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(nanoseconds // 1000 / 1e6, UTC)
    except (ValueError, OverflowError, OSError):  # a file may have any time
        return datetime.fromtimestamp(0, UTC)
