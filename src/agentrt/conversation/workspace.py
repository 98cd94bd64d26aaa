"""`Workspace`: a place that one holds, with its commands, its files, and their changes in git."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import anyio
import anyio.to_thread
import msgspec

from ..errors import AgentrtError, ConfigurationError
from ..ids import new_id
from ..placing import Place
from ..specs import DockerWorkspace, LocalWorkspace, RemoteWorkspace, WorkspaceSpec
from ..workspaces import FileChanges, FileDiff, FileEntry, FileList, GitChanges, GitDiff
from ..workspaces.asking import (
    SECONDS,
    AskChanges,
    AskDiff,
    AskFileChanges,
    AskFileDiff,
    CommandResult,
    CommandState,
    Files,
    Found,
    ListFiles,
    OutputPiece,
    PlaceEnd,
    Question,
    ReadArchive,
    ReadFile,
    RunCommand,
    Source,
    WriteFile,
)
from ..workspaces.streaming import PIECE, opened

if TYPE_CHECKING:
    from ..client.held import RemoteOpened
    from .opened import OpenedWorkspace

_WAIT = 20.0
"""Seconds that are waited for more output at once."""

_STOP_SECONDS = 10.0
"""Seconds that a command may take to end when nobody waits for it any more."""


class FileOperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a file was copied. `file_size` is in bytes; `error` says why it failed, "" if it did not."""

    success: bool
    source_path: str
    destination_path: str
    file_size: int | None = None
    error: str = ""


class WorkspaceEnd(Protocol):
    """The implementation behind a `Workspace`: of a conversation, or of a place of its own."""

    async def working_dir(self) -> str:
        """Return the path of the workspace, as what runs there sees it."""
        ...

    async def files(self) -> Files:
        """Return its files."""
        ...

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return its place, for commands on behalf of the principal `by`."""
        ...


class WorkspaceHandle:
    """A place where commands run, with its files, on this machine, in a container or on a server.

    A path is relative to the workspace, or absolute and in it, with "/" between its parts. A path that leads outside,
    also by a link, is refused. All methods raise `WorkspaceError`, whose `code` says why, and `ToolError` if the place
    cannot start; on a server also a `RemoteError`.
    """

    def __init__(self, end: WorkspaceEnd, by: str | None = None) -> None:
        self._end, self._by = end, by

    async def execute_command(
        self,
        command: str,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = SECONDS,
        *,
        on_output: Callable[[OutputPiece], object] | None = None,
    ) -> CommandResult:
        """Run a shell command, from the directory `cwd` (default: the workspace), and return its result.

        After `timeout` seconds, and if this is cancelled, it is ended with all that it started; the exit code is -1
        then. It gets no input, and no variable that is or looks like a secret. `on_output` gets its output as it comes.
        In the workspace of a conversation it stands in the log, and the model is told of it in one line.
        """
        place = self.place
        wanted = RunCommand(command=command, cwd=os.fspath(cwd or ""), timeout=timeout, id=new_id())
        try:
            await place.start(wanted)
            after = 0
            while True:
                found = await place.output(wanted.id, after, _WAIT)
                for piece in found.items:
                    after = piece.order
                    if on_output is not None:
                        on_output(piece)
                if found.result is not None:
                    return found.result
        except BaseException:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_STOP_SECONDS), suppress(AgentrtError):
                await place.stop(wanted.id)
            raise

    @property
    def place(self) -> PlaceEnd:
        """Its place, with everything that is asked about commands."""
        return self._end.place(self._by)

    async def path(self) -> str:
        """Return the path of the workspace, as what runs there sees it."""
        return await self._end.working_dir()

    async def directory(self) -> str | None:
        """Return the directory of this machine that has its files; None if only its place has them."""
        from ..workspaces.local import LocalFiles

        files = await self._end.files()
        return files.root if isinstance(files, LocalFiles) else None

    async def files(self) -> Files:
        """Return its files, for questions and streams of bytes."""
        return await self._end.files()

    async def commands(self) -> Sequence[CommandState]:
        """Return the commands that run, and the last ones that have ended."""
        return await self.place.commands()

    async def supports_pause(self) -> bool:
        """Return whether all that runs there can be paused."""
        return await self.place.supports_pause()

    async def pause(self) -> None:
        """Stop all that runs there, until `resume`: a container. Elsewhere nothing happens."""
        await self.place.pause()

    async def resume(self) -> None:
        """Let all that runs there go on."""
        await self.place.resume()

    async def pause_or_raise(self) -> None:
        """Do the same as `pause`. Raises `ConfigurationError` where nothing can be paused."""
        if not await self.supports_pause():
            raise ConfigurationError("this kind of workspace cannot be paused: a container can")
        await self.pause()

    async def list_files(self, path: str = "", *, at: int | None = None) -> FileList:
        """List a directory, directories first, then by name; at most 10,000 entries. With `at`, list it as it was after
        that event.
        """
        found = await self._ask(ListFiles(await self._inner(path), at))
        assert isinstance(found, FileList)
        return found

    async def read_file(self, path: str, *, at: int | None = None) -> bytes:
        """Return the content of a file, all in memory. With `at`, return it as it was after that event."""
        wanted, files = ReadFile(await self._inner(path), at), await self._end.files()
        async with aclosing(files.read(wanted)) as pieces:
            return b"".join([piece async for piece in pieces])

    async def write_file(self, path: str, content: bytes | str) -> FileEntry:
        """Write a whole file atomically. Missing directories are created; a `str` is written as UTF-8.

        A link is replaced, not followed.
        """
        data = content.encode() if isinstance(content, str) else content

        async def source() -> AsyncIterator[bytes]:
            for begin in range(0, len(data), PIECE):
                yield data[begin : begin + PIECE]

        return await self._write(WriteFile(await self._inner(path)), source)

    async def file_upload(self, source: Path | str, destination: str) -> FileOperationResult:
        """Copy a local file to a path in the workspace, as `write_file` does. A failure is a result."""
        copied = partial(FileOperationResult, source_path=os.fspath(source), destination_path=destination)
        try:
            wanted = WriteFile(await self._inner(destination))
            async with opened(source, "rb") as file:
                entry = await self._write(wanted, partial(_pieces, file.fileno()))
        except (OSError, ValueError, AgentrtError) as error:
            return copied(success=False, error=str(error))
        return copied(success=True, file_size=entry.size)

    async def file_download(self, source: str, destination: Path | str) -> FileOperationResult:
        """Copy a file of the workspace to a local path, which is replaced only once the whole copy is there. A failure
        is a result.
        """
        copied = partial(FileOperationResult, source_path=source, destination_path=os.fspath(destination))
        try:
            size = await self._save(ReadFile(await self._inner(source)), Path(destination))
        except (OSError, ValueError, AgentrtError) as error:
            return copied(success=False, error=str(error))
        return copied(success=True, file_size=size)

    async def archive_download(self, destination: Path | str, path: str = "") -> None:
        """Copy a directory of the workspace, without links, to a zip archive at a local path.

        Raises `OSError` for the local file.
        """
        await self._save(ReadArchive(await self._inner(path)), Path(destination))

    async def file_changes(self, since: int, until: int) -> FileChanges:
        """Return the files that differ between two events, and who changed them. Only covers times for which files were
        kept: before and after the agent's actions.
        """
        found = await self._ask(AskFileChanges(since, until))
        assert isinstance(found, FileChanges)
        return found

    async def file_diff(self, since: int, until: int, path: str = "") -> FileDiff:
        """Return the diff of a file, or of all files below a directory, between two events."""
        found = await self._ask(AskFileDiff(await self._inner(path), since, until))
        assert isinstance(found, FileDiff)
        return found

    async def git_changes(self, path: str = "") -> GitChanges:
        """Return the files that differ from the last commit of the repository whose root is the directory `path`."""
        found = await self._ask(AskChanges(await self._inner(path)))
        assert isinstance(found, GitChanges)
        return found

    async def git_diff(self, path: str = "") -> GitDiff:
        """Return the diff of a file, or of all files below a directory, to the last commit, with new files. They
        are in the repository at the path, or at the nearest directory above it in the workspace.
        """
        found = await self._ask(AskDiff(await self._inner(path)))
        assert isinstance(found, GitDiff)
        return found

    async def _inner(self, path: str) -> str:
        """Return a path relative to the workspace."""
        if not path.startswith("/"):
            return path
        root = (await self.path()).rstrip("/")
        if path.rstrip("/") == root:
            return ""
        return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else path

    async def _ask(self, question: Question) -> Found:
        return await (await self._end.files()).ask(question)

    async def _write(self, wanted: WriteFile, source: Source) -> FileEntry:
        return await (await self._end.files()).write(wanted, source)

    async def _save(self, wanted: ReadFile | ReadArchive, destination: Path) -> int:
        files = await self._end.files()
        async with aclosing(files.read(wanted)) as pieces:
            return await _save(pieces, destination)


class Workspace(WorkspaceHandle):
    """A workspace that is open while this context manager is entered, and outlives the conversations that it is given.

    `Workspace("path")` is a directory of this machine; with `image`, in a container that lives as long; with `host`,
    one of a server, with its key or token `api_key`; any other kind by its struct. `Conversation(agent, workspace)`
    acts in the same directory, and in the same container of this process.

    Raises `ConfigurationError` for what does not fit, on entry also `WorkspaceMissing`, and for a server its errors.
    """

    def __init__(
        self,
        working_dir: str | Path | WorkspaceSpec | RemoteWorkspace | None = None,
        *,
        host: str | None = None,
        api_key: str | None = None,
        image: str | None = None,
    ) -> None:
        if isinstance(working_dir, WorkspaceSpec | RemoteWorkspace):
            if not (host is api_key is image is None):
                raise ConfigurationError("Workspace(...): the struct of a workspace has everything: give nothing else")
            spec: WorkspaceSpec | RemoteWorkspace = working_dir
        elif host is not None and image is None:
            spec = RemoteWorkspace(host, api_key, None if working_dir is None else os.fspath(working_dir))
        elif host is not None or api_key is not None:
            raise ConfigurationError("Workspace(...): give a host with its api_key, or an image, or neither")
        else:
            path = os.path.abspath(working_dir or ".")
            spec = LocalWorkspace(path) if image is None else DockerWorkspace(path, image)
        self._opened = _opened(spec)
        super().__init__(self._opened)

    @property
    def working_dir(self) -> str:
        """The path of the workspace, as what runs there sees it; "" if a server has not told it yet."""
        return self._opened.spec.path or ""

    @property
    def spec(self) -> WorkspaceSpec | RemoteWorkspace:
        """The workspace as `Conversation` takes it, too."""
        return self._opened.spec

    @property
    def shared(self) -> Place | None:
        """The open place, for a conversation of this process; None if that opens its own. Raises `ConfigurationError`
        if it is not open.
        """
        live = self._opened.live
        return None if live is None or live.workspace.on_this_machine else live

    async def __aenter__(self) -> Self:
        await self._opened.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.close()

    def __repr__(self) -> str:
        return f"Workspace({self.spec!r})"


def _opened(spec: WorkspaceSpec | RemoteWorkspace) -> OpenedWorkspace | RemoteOpened:
    """Return what holds a workspace open."""
    if isinstance(spec, RemoteWorkspace):
        from ..client.held import RemoteOpened  # needed by few

        return RemoteOpened(spec)
    from .opened import OpenedWorkspace  # needed by few

    return OpenedWorkspace(spec)


async def _pieces(descriptor: int) -> AsyncIterator[bytes]:
    """Yield the bytes of an open file from its beginning; independent of other readers' positions. Raises `OSError`."""
    at = 0
    while piece := await anyio.to_thread.run_sync(os.pread, descriptor, PIECE, at):
        yield piece
        at += len(piece)


async def _save(pieces: AsyncIterator[bytes], destination: Path) -> int:
    """Write a whole file, and return its bytes. Raises `OSError`, and the errors of `pieces`."""
    first = await anext(pieces, b"")  # a missing file leaves nothing behind
    made = destination.with_name(f".{secrets.token_hex(8)}.download")
    try:
        async with opened(made, "xb") as file:
            await file.write(first)
            size = len(first)
            async for piece in pieces:
                await file.write(piece)
                size += len(piece)
        await anyio.to_thread.run_sync(os.replace, made, destination)
    except BaseException:
        with anyio.CancelScope(shield=True), suppress(FileNotFoundError):
            await anyio.to_thread.run_sync(os.unlink, made)
        raise
    return size
