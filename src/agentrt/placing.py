"""The protocols of a place: the live end of a workspace, where the tools of a conversation act."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from subprocess import DEVNULL as DEVNULL
from subprocess import PIPE as PIPE
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import anyio
import anyio.to_thread

from .errors import ConfigurationError
from .specs.workspace import KINDS, WorkspaceSpec, tag_of

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

Masked = Callable[[str], str]
"""Returns a text without its secrets."""

StartSoon = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
"""Starts a supervised task."""

MOST_THREADS = 16
"""Maximum number of threads that wait for the files of one place."""

T = TypeVar("T")

Stream = int | IO[Any] | None
"""A stream of a process: a descriptor or a file of this process, `PIPE`, `DEVNULL`, or this process's own (None)."""


class Walked(NamedTuple):
    """A file, a directory, a link or another thing below a directory, by its path from there.

    `mode` is that of stat(2), `changed` the time at which its content or status last changed, in nanoseconds, and
    `target` where a link leads.
    """

    path: str
    mode: int
    size: int
    changed: int
    target: str = ""


class Files(Protocol):
    """Files as a conversation's commands see them, by absolute path; links lead where they lead for these commands.

    All methods are for a thread, since they block, and raise `ToolError`.
    """

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, with links followed; None if nothing is there."""
        ...

    def real(self, path: str) -> str:
        """Return the path of an existing file or directory without links in it."""
        ...

    def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """Return the entries of a directory, sorted by name: each name, whether it is a directory with links followed,
        and whether it is a link.
        """
        ...

    def modified(self, directory: str, paths: Sequence[str]) -> list[int]:
        """Return when files below a directory were changed last, in nanoseconds; 0 for one that is gone."""
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a file, which may be new, completely or not at all."""
        ...

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...


class PlaceFiles(Files, Protocol):
    """All files of a place, for a thread."""

    def rated(self, ends: Mapping[str, str]) -> Files:
        """Return the same files for an action that was rated when these paths led to these places."""
        ...

    def walk(self, path: str, most: int, skipped: Collection[str] = ()) -> list[Walked]:
        """Return what is below a directory, at most `most` of it, and each directory before what is in it.

        No link is followed. Entries with one of the names `skipped` are left out, with all below them.
        """
        ...


class AsyncFiles:
    """The files of a place, for tasks: each call is that of the same name in a thread. All raise `ToolError`."""

    def __init__(self, blocking: PlaceFiles) -> None:
        self._limiter: anyio.CapacityLimiter | None = None
        self.blocking = blocking
        """The same files for code that is in a thread already: tools do all their work in one."""

    async def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, with links followed; None if nothing is there."""
        return await self._in_thread(self.blocking.status, path)

    async def real(self, path: str) -> str:
        """Return the path of an existing file or directory without links in it."""
        return await self._in_thread(self.blocking.real, path)

    async def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """Return the entries of a directory: each name, whether it is a directory, and whether it is a link."""
        return await self._in_thread(self.blocking.names, path)

    async def walk(self, path: str, most: int, skipped: Collection[str] = ()) -> list[Walked]:
        """Return what is below a directory, at most `most` of it. No link is followed."""
        return await self._in_thread(self.blocking.walk, path, most, skipped)

    async def modified(self, directory: str, paths: Sequence[str]) -> list[int]:
        """Return when files below a directory were changed last, in nanoseconds; 0 for one that is gone."""
        return await self._in_thread(self.blocking.modified, directory, paths)

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return await self._in_thread(self.blocking.read, path)

    async def write(self, path: str, data: bytes) -> None:
        """Write a file, which may be new, completely or not at all."""
        await self._in_thread(self.blocking.write, path, data)

    async def write_itself(self, path: str, data: bytes) -> None:
        """Write the file at a path, and refuse a path that leads elsewhere by a link."""
        await self._in_thread(self.blocking.rated({}).write, path, data)

    async def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is."""
        await self._in_thread(self.blocking.move, path, target)

    async def remove(self, path: str) -> None:
        """Remove a file."""
        await self._in_thread(self.blocking.remove, path)

    async def _in_thread(self, function: Callable[..., T], *given: Any) -> T:
        """Call it in one of this place's own threads: one that does not answer keeps no others waiting."""
        self._limiter = self._limiter or anyio.CapacityLimiter(MOST_THREADS)
        return await anyio.to_thread.run_sync(function, *given, limiter=self._limiter)


@dataclass(frozen=True)
class Python:
    """A Python of a place: its path, or its name there, and the directory of this package if it has that."""

    path: str
    package: str = ""


@dataclass(frozen=True)
class PlaceFacts:
    """The system of a place (`uname`), its processor, and the directories of its user and for temporary files."""

    system: str
    machine: str
    home: str
    temporary: str


@dataclass(frozen=True)
class Rlimits:
    """What the system lets a program use: seconds of processor time, bytes of its memory (address space), and bytes of
    a file that it writes. It holds for each process that the program starts, too. See setrlimit(2).
    """

    cpu_seconds: int | None = None
    memory: int | None = None
    file_size: int | None = None

    def around(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs a command with these limits. It ends with 127 if the program is not there."""
        sizes = (("t", self.cpu_seconds, 1), ("v", self.memory, 1024), ("f", self.file_size, 512))
        limits = "".join(f"ulimit -{letter} {most // unit} && " for letter, most, unit in sizes if most is not None)
        return ["/bin/sh", "-c", f'{limits}exec "$@"', "sh", *command]


class Reader(NamedTuple):
    """What a program of our own needs that only reads: the paths that it sees besides the system and its directory, and
    those that it may write. The programs of a conversation's place see what is in that place instead of `reads`.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Mirror(Protocol):
    """A copy, in a directory of this machine, of the files of a workspace that only its place has."""

    @property
    def directory(self) -> str:
        """The directory, which `fetch` makes."""
        ...

    async def fetch(self) -> None:
        """Make the copy what the workspace is now. Raises `ToolError`, for example if there is too much."""
        ...

    async def put(self) -> frozenset[str]:
        """Make the workspace what the copy is; return the paths that stay as they are there: those that changed after
        `fetch`, and those that could not be written. Raises `ToolError` if nothing could be.
        """
        ...

    async def close(self) -> None:
        """Remove the copy."""
        ...


class Process(Protocol):
    """A program that runs in a place. It leads a session and a process group of its own."""

    @property
    def pid(self) -> int:
        """Its number there; 0 if there are none."""
        ...

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        ...

    @property
    def stdin(self) -> ByteSendStream | None:
        """Its input, if that is a pipe. Once `send` has begun, all its bytes are written, even if it is cancelled."""
        ...

    @property
    def stdout(self) -> ByteReceiveStream | None:
        """Its output, if that is a pipe."""
        ...

    @property
    def stderr(self) -> ByteReceiveStream | None:
        """Its errors, if they are a pipe."""
        ...

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code. Others may still hold its pipes."""
        ...

    def send_signal(self, number: int, /) -> None:
        """Send it a signal; nothing happens if it has ended."""
        ...

    def kill_group(self) -> None:
        """Kill it with its process group at once."""
        ...

    async def end(self) -> None:
        """End it with all that it has started, wherever that has gone: by TERM, then by KILL."""
        ...

    def close_pipes(self) -> None:
        """Close its pipes, even with unread data in them."""
        ...


class Place(Protocol):
    """Where the tools of one conversation act. It belongs to the runtime, which closes it with the conversation.

    Its files and its processes reach what it shows to them, and nothing else.
    """

    @property
    def workspace(self) -> WorkspaceSpec:
        """The workspace whose live end it is."""
        ...

    @property
    def files(self) -> AsyncFiles:
        """Its files, by absolute path, as its processes see them."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that a program there begins with; what `run` is given replaces it, or adds to the image's."""
        ...

    async def python(self) -> Python:
        """Return how this program's own Python is run there. Raises `ToolError`."""
        ...

    def shared(self, name: str) -> AbstractAsyncContextManager[tuple[str, str]]:
        """Provide the path of a socket on which this process can listen, and the path by which the place reaches it.

        In a container the two are one, in a directory where only this process can write. Any task may leave it. Raises
        `ToolError` if there can be none.
        """
        ...

    async def prepare(self) -> bool:
        """Make the workspace's directory if it is gone, and return whether it was. Raises `ToolError`."""
        ...

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stream = PIPE,
        stdout: Stream = PIPE,
        stderr: Stream = PIPE,
        limits: Rlimits | None = None,
    ) -> Process:
        """Start a program in a session of its own. Cancelling does not lose it: a program that runs has its handle.

        Raises `OSError`, `ValueError` for words that no program can have, and `ToolError` if nothing can run there.
        """
        ...

    def console(self) -> Any:
        """Return a terminal for another bash: a `Console`."""
        ...

    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """Provide the port on the loopback of this machine that leads to a port on the loopback there.

        Connecting raises nothing if nobody listens there: such a connection ends at once. Any task may leave it.
        """
        ...

    def forward_sockets(self, directory: str, names: Sequence[str]) -> AbstractAsyncContextManager[str]:
        """Provide a private directory of this machine whose sockets lead to those of the same names in one there.

        As with `forward`, connecting raises nothing if nobody listens there, and any task may leave it.
        """
        ...

    @property
    def outside(self) -> Place:
        """The same place for what a person's own configuration starts there: no box confines it."""
        ...

    def checkpoints(self) -> Mirror | None:
        """Return what mirrors the workspace, so that its files can be kept; None if this machine sees it as it is."""
        ...

    async def unheld(self) -> str:
        """Return why nothing confines what runs there, though it should be; "" otherwise."""
        ...

    async def facts(self) -> PlaceFacts:
        """Return what kind of system it is. Raises `ToolError`."""
        ...

    @property
    def supports_pause(self) -> bool:
        """Whether `pause` stops all that runs there. Otherwise it does nothing."""
        ...

    async def pause(self) -> None:
        """Stop all that runs there, until `resume`. Raises `ToolError`."""
        ...

    async def resume(self) -> None:
        """Let all that runs there go on. Raises `ToolError`."""
        ...

    async def end_left(self, conversation: str) -> bool:
        """End what a conversation started in a runtime that died; return whether nothing of it is left."""
        ...

    async def close(self) -> None:
        """Release it; its processes were ended before. May be called twice."""
        ...


@dataclass(frozen=True)
class Setting:
    """What a place gets of its conversation: `masked` finds its secrets, `conversation` marks its processes, and
    `hidden` are directories of this machine that nothing there may see, such as the store.
    """

    start_soon: StartSoon
    masked: Masked = str
    conversation: str = ""
    hidden: tuple[str, ...] = ()


async def unchecked(workspace: Any) -> None:
    """Check nothing."""


@dataclass(frozen=True)
class PlaceType:
    """A kind of place: the struct of its workspaces, and how one is opened.

    `open` starts nothing yet: the first process or file does. `check` raises `ConfigurationError` if a new conversation
    could not work there. A package offers a kind with an entry point in the group `agentrt.places`, whose name is the
    tag of the struct.
    """

    spec: type[WorkspaceSpec]
    open: Callable[[Any, Setting], Place]
    check: Callable[[Any], Awaitable[None]] = unchecked

    @property
    def tag(self) -> str:
        """The name of the kind in the log."""
        return tag_of(self.spec)

    def __post_init__(self) -> None:
        """Have it found, and logs with it read. Raises `ConfigurationError` for a tag that another kind has."""
        if KINDS.setdefault(self.tag, self.spec) is not self.spec:
            raise ConfigurationError(f"two kinds of workspaces have the tag {self.tag!r}: give one of them another")
        PLACE_TYPES.setdefault(self.tag, self)


PLACE_TYPES: dict[str, PlaceType] = {}
"""The kinds that were made, by their tags."""
