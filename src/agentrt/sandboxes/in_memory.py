"""`InMemory`: a place whose files are in memory and whose processes are Python functions: for tests and replays."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from posixpath import dirname, normpath
from typing import Any, NoReturn

import anyio
import msgspec

from ..errors import ToolError
from ..placing import PIPE, AsyncFiles, PlaceFacts, Python, Rlimits, Setting, Stream, Walked
from ..specs.workspace import WorkspaceSpec
from .memory_console import MemoryConsole
from .mirror import PlaceMirror

Program = Callable[["Act"], Awaitable[int]]
"""What a program does; it returns its exit code."""


class MemoryWorkspace(WorkspaceSpec, msgspec.Struct, frozen=True, tag="memory"):
    """A directory that is only in memory."""

    path: str = "/workspace"


class Act(msgspec.Struct, frozen=True):
    """One run of a program: its words, its directory, its environment and its streams."""

    command: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    files: MemoryFiles
    stdin: anyio.abc.ByteReceiveStream
    stdout: anyio.abc.ByteSendStream
    stderr: anyio.abc.ByteSendStream


class MemoryFiles:
    """Files in memory, by absolute path. A link is followed wherever it leads."""

    def __init__(self, directory: str) -> None:
        self.content: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.changed: dict[str, int] = {}
        """How often files were written."""
        self.directories = {"/", *_above(normpath(directory)), normpath(directory)}

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, with links followed; None if nothing is there."""
        end = self._end(path)
        if end in self.content:
            return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, len(self.content[end]), 0, 0, 0))
        return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0)) if end in self.directories else None

    def real(self, path: str) -> str:
        """Return the path of an existing file or directory without links in it. Raises `ToolError`."""
        if self.status(path) is None:
            raise ToolError(f"{path}: No such file or directory")
        return self._end(path)

    def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """Return the entries of a directory, sorted by name. Raises `ToolError`."""
        end = self._end(path)
        if end not in self.directories:
            raise ToolError(f"{path}: {'Not a directory' if end in self.content else 'No such file or directory'}")
        prefix = f"{end.rstrip('/')}/"
        there = {one for one in (*self.content, *self.links, *self.directories) if one != "/" and dirname(one) == end}
        return sorted((one[len(prefix) :], self._end(one) in self.directories, one in self.links) for one in there)

    def walk(self, path: str, most: int, skipped: Collection[str] = ()) -> list[Walked]:
        """Return what is below a directory. A file counts as changed with each write. Raises `ToolError`."""
        top = self.real(path)
        if top not in self.directories:
            raise ToolError(f"{path}: Not a directory")
        prefix, found = f"{top.rstrip('/')}/", list[Walked]()
        for one in sorted({*self.content, *self.links, *self.directories}):
            below = one[len(prefix) :].split("/")
            if one.startswith(prefix) and one != "/" and not set(skipped).intersection(below):
                if one in self.links:
                    target = self.links[one]
                    found.append(Walked("/".join(below), stat.S_IFLNK | 0o777, len(target), 0, target))
                elif one in self.content:
                    size, mode = len(self.content[one]), stat.S_IFREG | 0o644
                    found.append(Walked("/".join(below), mode, size, self.changed.get(one, 0)))
                else:
                    found.append(Walked("/".join(below), stat.S_IFDIR | 0o755, 0, 0))
        return found[:most]

    def modified(self, directory: str, paths: Sequence[str]) -> list[int]:
        """Return 0 for each path: there is no time in memory."""
        return [0] * len(paths)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises `ToolError`."""
        if (end := self._end(path)) in self.content:
            return self.content[end]
        raise ToolError(f"{path}: {'Is a directory' if end in self.directories else 'No such file or directory'}")

    def write(self, path: str, data: bytes) -> None:
        """Write a file, and make the directories above it. Raises `ToolError`."""
        end = self._end(path)
        if end in self.directories:
            raise ToolError(f"{path}: Is a directory")
        for above in _above(end):
            if above in self.content:
                raise ToolError(f"{path}: Not a directory")
            self.directories.add(above)
        self.content[end] = data
        self.changed[end] = self.changed.get(end, 0) + 1

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is. Raises `ToolError`."""
        if self.status(target) is not None:
            raise ToolError(f"{target}: File exists")
        data = self.read(path)
        self.write(target, data)
        self.remove(path)

    def remove(self, path: str) -> None:
        """Remove a file. Raises `ToolError`."""
        path = normpath(path)
        if self.links.pop(path, None) is None and self.content.pop(self._end(path), None) is None:
            raise ToolError(f"{path}: No such file or directory")

    def rated(self, ends: Mapping[str, str]) -> MemoryFiles:
        """Return the same files."""
        return self

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        self.links[normpath(path)] = target

    def _end(self, path: str) -> str:
        """Return where a path leads. A link in a circle leads nowhere."""
        path = normpath(path)
        for _ in range(40):
            found = next((one for one in (*reversed(_above(path)), path) if one in self.links), None)
            if found is None:
                return path
            path = normpath(f"{dirname(found)}/{self.links[found]}" + path[len(found) :])
            if self.links[found].startswith("/"):
                path = normpath(path[path.index(self.links[found]) :])
        return ""


def _above(path: str) -> list[str]:
    """Return the directories above a path, the nearest one first."""
    found = []
    while path not in ("/", ""):
        path = dirname(path)
        found.append(path)
    return found


class MemoryProcess:
    """A program that runs as a task."""

    def __init__(self, act: Act, program: Program, streams: tuple[Any, ...], number: int) -> None:
        self.stdin, self.stdout, self.stderr = streams
        self.pid = number
        self.returncode: int | None = None
        self._act, self._program = act, program
        self._ended, self._scope = anyio.Event(), anyio.CancelScope()

    async def work(self) -> None:
        """Run the program to its end."""
        code = -9
        try:
            with self._scope:
                code = await self._program(self._act)
        finally:
            self.returncode = code
            for stream in (self._act.stdin, self._act.stdout, self._act.stderr):
                with anyio.CancelScope(shield=True):
                    await stream.aclose()
            self._ended.set()

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code."""
        await self._ended.wait()
        code = self.returncode
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """End it, whatever the signal."""
        self._scope.cancel()

    def kill_group(self) -> None:
        """End it."""
        self._scope.cancel()

    async def end(self) -> None:
        """End it, and wait for that."""
        self._scope.cancel()
        await self._ended.wait()

    def close_pipes(self) -> None:
        """Close its pipes."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()


class InMemory:
    """A place in memory. `programs` has what can run, by the first word of a command."""

    def __init__(
        self, workspace: WorkspaceSpec, setting: Setting, programs: Mapping[str, Program] | None = None
    ) -> None:
        self.workspace, self.memory = workspace, MemoryFiles(workspace.path)
        self.files = AsyncFiles(self.memory)
        self.programs = dict(programs or {})
        self._start_soon, self._started = setting.start_soon, 0
        self._processes: list[MemoryProcess] = []

    @property
    def variables(self) -> Mapping[str, str]:
        """No variables."""
        return {}

    async def python(self) -> Python:
        """Raise `ToolError`: only its programs run in memory."""
        raise ToolError("there is no Python here")

    def shared(self, name: str) -> NoReturn:
        """Raise `ToolError`: nothing runs here that could connect."""
        raise ToolError("there are no sockets here")

    async def prepare(self) -> bool:
        """Make the workspace's directory if it is gone, and return whether it was."""
        path = normpath(self.workspace.path)
        gone = path not in self.memory.directories
        self.memory.directories.update((path, *_above(path)))
        return gone

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
    ) -> MemoryProcess:
        """Start a program; what it uses is not limited. Raises `FileNotFoundError` for one that is not there."""
        await anyio.lowlevel.checkpoint()
        if (program := self.programs.get(command[0])) is None:
            raise FileNotFoundError(2, "No such file or directory", command[0])
        into, given = _pipe()
        out, said = _pipe()
        errors, failed = _pipe()
        act = Act(tuple(command), os.fspath(cwd or self.workspace.path), env or {}, self.memory, given, out, errors)
        self._started += 1
        pipes = ((into, stdin), (said, stdout), (failed, stderr))
        streams = tuple(pipe if wanted == PIPE else None for pipe, wanted in pipes)
        process = MemoryProcess(act, program, streams, self._started)
        self._processes.append(process)
        self._start_soon(process.work)
        return process

    def console(self) -> MemoryConsole:
        """Return a terminal whose commands are the programs of the place."""
        return MemoryConsole(self, self._start_soon)

    def forward(self, port: int) -> NoReturn:
        """Raise `ToolError`: nothing listens in memory."""
        raise ToolError("nothing listens here")

    def forward_sockets(self, directory: str, names: Sequence[str]) -> NoReturn:
        """Raise `ToolError`: nothing listens in memory."""
        raise ToolError("nothing listens here")

    @property
    def outside(self) -> InMemory:
        """This place: all that it runs is in it."""
        return self

    async def unheld(self) -> str:
        """Return "": what runs there is not on this machine."""
        return ""

    def checkpoints(self) -> PlaceMirror:
        """Return what mirrors the workspace, so that its files can be kept."""
        return PlaceMirror(self)

    async def facts(self) -> PlaceFacts:
        """Return facts that are the same on every machine."""
        return PlaceFacts("Memory", "", self.workspace.path, "/tmp")

    supports_pause = False

    async def pause(self) -> None:
        """Do nothing."""

    async def resume(self) -> None:
        """Do nothing."""

    async def end_left(self, conversation: str) -> bool:
        """Return True: nothing outlives the runtime."""
        return True

    async def close(self) -> None:
        """End its processes."""
        for process in self._processes:
            if process.returncode is None:
                await process.end()


def _pipe() -> tuple[Any, Any]:
    """Return both ends of a pipe of bytes."""
    send, receive = anyio.create_memory_object_stream[bytes](16)
    return _Bytes(send), _Bytes(receive)


class _Bytes:
    """One end of a pipe."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._rest = stream, b""

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self._rest:
            self._rest = await self._stream.receive()
        data, self._rest = self._rest[:max_bytes], self._rest[max_bytes:]
        return data

    def __aiter__(self) -> _Bytes:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
