"""Questions about a workspace and its commands, as data; `Files` and `PlaceEnd`, the interfaces that answer them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

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


class AskChanges(AtPath, frozen=True):
    """The files that differ from the last commit of the repository at a directory; the reply is `GitChanges`."""


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


LONGEST_COMMAND = 100_000
"""Maximum number of characters of a command."""

SECONDS = 30.0
"""Default time limit."""

Name: TypeAlias = Literal["stdout", "stderr"]


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A shell command of a person or a program. `cwd` is absolute, or relative to the workspace; "" is the workspace.

    It is ended with all that it started after `timeout` seconds. Raises `WorkspaceError` for one that cannot be run.
    """

    command: str
    cwd: str = ""
    timeout: float = SECONDS
    id: str = ""
    """A UUID by which a request that is sent again starts nothing anew; "": one is made."""

    def __post_init__(self) -> None:
        if self.id and not _UUID.fullmatch(self.id):
            raise WorkspaceError("command", "its id is a UUID, or left out")
        if not self.command.strip() or "\0" in self.command or len(self.command) > LONGEST_COMMAND:
            raise WorkspaceError("command", f"give a command of at most {LONGEST_COMMAND:,} characters, without NUL")
        if "\0" in self.cwd:
            raise WorkspaceError("path", "a directory has no NUL in its name")
        if not 0 < self.timeout <= 86_400:
            raise WorkspaceError("command", "its timeout is above 0 and at most 86400 seconds")


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. `exit_code` is -1 if its time limit ended it, and 128 + N if signal N did.

    Of a longer output, `stdout` and `stderr` have the end, after a line that says so. `duration` is in seconds.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    timeout_occurred: bool = False
    duration: float = 0.0

    @property
    def timeout(self) -> bool:
        """The same as `timeout_occurred`."""
        return self.timeout_occurred


class OutputPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a command's output. `order` counts the pieces of a command from 1."""

    order: int
    name: Name
    text: str


class CommandState(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was run: it still runs while `result` is null. `stopped`: somebody ended it."""

    id: str
    command: str
    cwd: str
    timeout: float
    timestamp: datetime
    by: str | None = None
    result: CommandResult | None = None
    stopped: bool = False


class CommandOutput(msgspec.Struct, frozen=True):
    """Pieces of a command's output, and its result if it has ended and these are the last ones. Those that were dropped
    meanwhile, because there were too many, are missing.
    """

    items: tuple[OutputPiece, ...]
    result: CommandResult | None = None


class CommandList(msgspec.Struct, frozen=True):
    """Commands; the newest comes last."""

    items: tuple[CommandState, ...]


class PlaceState(msgspec.Struct, frozen=True):
    """The place of a workspace. `path` is the directory in which commands begin, as they see it."""

    path: str
    supports_pause: bool


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


class PlaceEnd(Protocol):
    """The place of a workspace, here or on a server.

    All methods raise `WorkspaceError` and `ToolError`, remotely also `RemoteError`.
    """

    async def start(self, wanted: RunCommand) -> CommandState:
        """Begin a command."""
        ...

    async def state(self, command: str) -> CommandState:
        """Return a command as it is now."""
        ...

    async def output(self, command: str, after: int, wait: float) -> CommandOutput:
        """Return the pieces of a command's output after one; if there are none, wait for `wait` seconds."""
        ...

    async def stop(self, command: str) -> CommandState:
        """End a command with all that it started."""
        ...

    async def commands(self) -> Sequence[CommandState]:
        """Return the commands that run, and the last ones that have ended."""
        ...

    async def supports_pause(self) -> bool:
        """Return whether all that runs there can be paused."""
        ...

    async def pause(self) -> None:
        """Stop all that runs there, until `resume`; nothing happens where that cannot be."""
        ...

    async def resume(self) -> None:
        """Let all that runs there go on."""
        ...


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
