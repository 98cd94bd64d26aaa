"""What is asked of a workspace's files, as data, and the seam to whoever has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol, TypeAlias

import msgspec

from ..errors import WorkspaceError
from .entries import FileChanges, FileDiff, FileEntry, FileList, GitChanges, GitDiff

LONGEST = 4096
"""Characters of a path."""


class AtPath(msgspec.Struct, frozen=True):
    """Base of what names a path: relative to the workspace, with "/" between its parts; "" is the workspace itself.

    Raises `WorkspaceError` for what no path can be.
    """

    path: str = ""

    def __post_init__(self) -> None:
        if len(self.path) > LONGEST or not _is_text(self.path):
            raise WorkspaceError("path", f"give at most {LONGEST} characters, which UTF-8 has")


class AtFile(AtPath, frozen=True):
    """Base of what names a file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise WorkspaceError("not-a-file", "this is the workspace itself: name a file in it")


class ListFiles(AtPath, frozen=True):
    """What is in a directory, or was after event `at`; the reply is a `FileList`."""

    at: int | None = None


class AskChanges(msgspec.Struct, frozen=True):
    """Which files are not as they were committed last; the reply is `GitChanges`."""


class AskDiff(AtPath, frozen=True):
    """How a file, or all below a directory, differs from the last commit; the reply is a `GitDiff`."""


class AskFileChanges(msgspec.Struct, frozen=True):
    """Which files were not the same after two events; the reply is `FileChanges`."""

    since: int
    until: int


class AskFileDiff(AtPath, frozen=True):
    """How a file, or all below a directory, differs between two events; the reply is a `FileDiff`."""

    since: int = 0
    until: int = 0


class ReadFile(AtFile, frozen=True):
    """The bytes of a file, as it is or was after event `at`."""

    at: int | None = None


class ReadArchive(AtPath, frozen=True):
    """The bytes of a zip archive of a directory."""


class WriteFile(AtFile, frozen=True):
    """Write a file whole."""


Question: TypeAlias = ListFiles | AskChanges | AskDiff | AskFileChanges | AskFileDiff
Found: TypeAlias = FileList | GitChanges | GitDiff | FileChanges | FileDiff

Source = Callable[[], AsyncIterator[bytes]]
"""Gives what is to be written, from its beginning each time: what is cut on its way is sent again.

It holds nothing open: who was refused does not read it to its end.
"""


class Files(Protocol):
    """The files of a workspace, wherever it is. All raise `WorkspaceError`; over a network also a `RemoteError`."""

    async def ask(self, question: Question) -> Found:
        """The reply to a question."""
        ...

    def read(self, wanted: ReadFile | ReadArchive) -> AsyncGenerator[bytes]:
        """Bytes, in pieces."""
        ...

    async def write(self, wanted: WriteFile, source: Source) -> FileEntry:
        """Have what a source gives take the place of a file, once all of it is there."""
        ...


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
