"""What is told of a workspace: its files, and what has changed in it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What stands at a path; `size` in bytes. Links and other things that are no files are listed, not followed."""

    name: str
    path: str
    type: Literal["file", "directory", "link", "other"]
    size: int
    modified: datetime
    ignored: bool = False
    """Whether ignore files leave it out; known of files as they are now."""


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a directory, directories first, then by name; `truncated` when there is more than is listed."""

    path: str
    items: tuple[FileEntry, ...]
    truncated: bool


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not the same at two places in the log, and who changed it in between, where that is known."""

    path: str
    status: Literal["added", "modified", "deleted"]
    by: tuple[Literal["agent", "people", "rewind", "unknown"], ...]


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed between the events `since` and `until`; `truncated` when there is more than is listed."""

    since: int
    until: int
    items: tuple[FileChange, ...]
    truncated: bool


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff between the files as they were after two events; cut where it is `truncated`."""

    diff: str
    truncated: bool


class GitChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not as it was committed last; `origin` is where a renamed one was."""

    path: str
    status: Literal["added", "modified", "deleted", "renamed", "untracked", "conflicted"]
    origin: str | None = None


class GitChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed since the commit `head` (null: there is none yet) of `branch` (null: none is checked out)."""

    head: str | None
    branch: str | None
    items: tuple[GitChange, ...]
    truncated: bool


class GitDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff from the last commit to the files as they are, with new files; cut where it is `truncated`."""

    diff: str
    truncated: bool
