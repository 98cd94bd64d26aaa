"""Questions about a workspace's files, as data; and `Files`, the interface that answers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol, TypeAlias

import msgspec

from ..errors import WorkspaceError
from ..sandboxes.entries import FileChanges, FileDiff, FileEntry, FileList, GitChanges, GitDiff

LONGEST = 4096
"""Maximum number of characters of a path."""


class AtPath(msgspec.Struct, frozen=True):
    """Base of requests with a path: relative to the workspace, with "/" between its parts; "" is the workspace itself.

    Raises `WorkspaceError` for a path that is too long or is not valid Unicode.
    """

    path: str = ""

    def __post_init__(self) -> None:
        if len(self.path) > LONGEST or not _is_text(self.path):
            raise WorkspaceError("path", f"give at most {LONGEST} characters, which UTF-8 has")


class AtFile(AtPath, frozen=True):
    """Base of requests with the path of a file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise WorkspaceError("not-a-file", "this is the workspace itself: name a file in it")


class ListFiles(AtPath, frozen=True):
    """The entries of a directory, now or after event `at`; the reply is a `FileList`."""

    at: int | None = None


class AskChanges(msgspec.Struct, frozen=True):
    """The files that differ from the last commit; the reply is `GitChanges`."""


class AskDiff(AtPath, frozen=True):
    """The diff of a file, or of everything below a directory, from the last commit; the reply is a `GitDiff`."""


class AskFileChanges(msgspec.Struct, frozen=True):
    """The files that differ between two events; the reply is `FileChanges`."""

    since: int
    until: int


class AskFileDiff(AtPath, frozen=True):
    """The diff of a file, or of everything below a directory, between two events; the reply is a `FileDiff`."""

    since: int = 0
    until: int = 0


class ReadFile(AtFile, frozen=True):
    """The bytes of a file, now or after event `at`."""

    at: int | None = None


class ReadArchive(AtPath, frozen=True):
    """The bytes of a zip archive of a directory."""


class WriteFile(AtFile, frozen=True):
    """A request to write a whole file."""


Question: TypeAlias = ListFiles | AskChanges | AskDiff | AskFileChanges | AskFileDiff
Found: TypeAlias = FileList | GitChanges | GitDiff | FileChanges | FileDiff

Source = Callable[[], AsyncIterator[bytes]]
"""Yields the bytes to write, each time from their beginning, because an interrupted transfer is sent again.

It must hold nothing open, because a request that is refused does not read it to the end.
"""


class Files(Protocol):
    """The files of a workspace, local or remote. All methods raise `WorkspaceError`, remotely also `RemoteError`."""

    async def ask(self, question: Question) -> Found:
        """Return the reply to a question."""
        ...

    def read(self, wanted: ReadFile | ReadArchive) -> AsyncGenerator[bytes]:
        """Yield bytes, in pieces."""
        ...

    async def write(self, wanted: WriteFile, source: Source) -> FileEntry:
        """Replace a file with the bytes of a source, once all of them have arrived."""
        ...


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
