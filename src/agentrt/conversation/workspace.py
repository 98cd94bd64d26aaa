"""`WorkspaceFiles`: the files that a conversation's agent works on, and their changes in git."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from ..workspaces import FileChanges, FileDiff, FileEntry, FileList, GitChanges, GitDiff
from ..workspaces.asking import (
    AskChanges,
    AskDiff,
    AskFileChanges,
    AskFileDiff,
    Found,
    ListFiles,
    Question,
    ReadArchive,
    ReadFile,
    Source,
    WriteFile,
)
from ..workspaces.streaming import PIECE, opened
from .end import End


class WorkspaceFiles:
    """The files of a conversation's workspace, local or on a server; see `Conversation.workspace`.

    A path is relative to the workspace, with "/" between its parts. A path that leads outside, also by a link, is
    refused. All methods raise `WorkspaceError`, whose `code` says why; on a server also a `RemoteError`.
    """

    def __init__(self, end: End) -> None:
        self._end = end

    async def list_files(self, path: str = "", *, at: int | None = None) -> FileList:
        """List a directory, directories first, then by name; at most 10,000 entries. With `at`, list it as it was after
        that event.
        """
        found = await self._ask(ListFiles(path, at))
        assert isinstance(found, FileList)
        return found

    async def read_file(self, path: str, *, at: int | None = None) -> bytes:
        """Return the content of a file, all in memory. With `at`, return it as it was after that event."""
        wanted, files = ReadFile(path, at), await self._end.files()
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

        return await self._write(WriteFile(path), source)

    async def file_upload(self, source: Path | str, destination: str) -> FileEntry:
        """Copy a local file to a path in the workspace, as `write_file` does.

        Raises `OSError` for the local file.
        """
        wanted = WriteFile(destination)
        async with opened(source, "rb") as file:
            return await self._write(wanted, partial(_pieces, file.fileno()))

    async def file_download(self, source: str, destination: Path | str) -> None:
        """Copy a file of the workspace to a local path. The local file is replaced only once the whole copy is there.

        Raises `OSError` for the local file.
        """
        await self._save(ReadFile(source), Path(destination))

    async def archive_download(self, destination: Path | str, path: str = "") -> None:
        """Copy a directory of the workspace, without links, to a zip archive at a local path.

        Raises `OSError` for the local file.
        """
        await self._save(ReadArchive(path), Path(destination))

    async def file_changes(self, since: int, until: int) -> FileChanges:
        """Return the files that differ between two events, and who changed them. Only covers times for which files were
        kept: before and after the agent's actions.
        """
        found = await self._ask(AskFileChanges(since, until))
        assert isinstance(found, FileChanges)
        return found

    async def file_diff(self, since: int, until: int, path: str = "") -> FileDiff:
        """Return the diff of a file, or of all files below a directory, between two events."""
        found = await self._ask(AskFileDiff(path, since, until))
        assert isinstance(found, FileDiff)
        return found

    async def git_changes(self) -> GitChanges:
        """Return the files that differ from the last commit. The workspace must be the root of a repository."""
        found = await self._ask(AskChanges())
        assert isinstance(found, GitChanges)
        return found

    async def git_diff(self, path: str = "") -> GitDiff:
        """Return the diff of a file, or of all files below a directory, to the last commit, with new files."""
        found = await self._ask(AskDiff(path))
        assert isinstance(found, GitDiff)
        return found

    async def _ask(self, question: Question) -> Found:
        return await (await self._end.files()).ask(question)

    async def _write(self, wanted: WriteFile, source: Source) -> FileEntry:
        return await (await self._end.files()).write(wanted, source)

    async def _save(self, wanted: ReadFile | ReadArchive, destination: Path) -> None:
        files = await self._end.files()
        async with aclosing(files.read(wanted)) as pieces:
            await _save(pieces, destination)


async def _pieces(descriptor: int) -> AsyncIterator[bytes]:
    """Yield the bytes of an open file from its beginning; independent of other readers' positions. Raises `OSError`."""
    at = 0
    while piece := await anyio.to_thread.run_sync(os.pread, descriptor, PIECE, at):
        yield piece
        at += len(piece)


async def _save(pieces: AsyncIterator[bytes], destination: Path) -> None:
    """Write a whole file. Raises `OSError`, and the errors of `pieces`."""
    first = await anext(pieces, b"")  # a missing file leaves nothing behind
    made = destination.with_name(f".{secrets.token_hex(8)}.download")
    try:
        async with opened(made, "xb") as file:
            await file.write(first)
            async for piece in pieces:
                await file.write(piece)
        await anyio.to_thread.run_sync(os.replace, made, destination)
    except BaseException:
        with anyio.CancelScope(shield=True), suppress(FileNotFoundError):
            await anyio.to_thread.run_sync(os.unlink, made)
        raise
