"""`WorkspaceFiles`: the files that a conversation's agent works on, and what git says of them."""

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
    """The files of a conversation's workspace, be it here or on a server; see `Conversation.workspace`.

    A path is relative to the workspace, with "/" between its parts: what leads out of it, also by a link, is refused.
    All raise `WorkspaceError`, whose `code` says why; on a server also a `RemoteError`.
    """

    def __init__(self, end: End) -> None:
        self._end = end

    async def list_files(self, path: str = "", *, at: int | None = None) -> FileList:
        """What is in a directory, directories first, then by name; at most 10,000 entries. What was in it after event
        `at`, where that is given.
        """
        found = await self._ask(ListFiles(path, at))
        assert isinstance(found, FileList)
        return found

    async def read_file(self, path: str, *, at: int | None = None) -> bytes:
        """The content of a file, all in memory; as it was after event `at`, where that is given."""
        wanted, files = ReadFile(path, at), await self._end.files()
        async with aclosing(files.read(wanted)) as pieces:
            return b"".join([piece async for piece in pieces])

    async def write_file(self, path: str, content: bytes | str) -> FileEntry:
        """Write a file whole: the content takes its place at once. Directories on the way are made; a `str` is UTF-8.

        A link is replaced, not followed.
        """
        data = content.encode() if isinstance(content, str) else content

        async def source() -> AsyncIterator[bytes]:
            for begin in range(0, len(data), PIECE):
                yield data[begin : begin + PIECE]

        return await self._write(WriteFile(path), source)

    async def file_upload(self, source: Path | str, destination: str) -> FileEntry:
        """Copy a file of this process to a path in the workspace, as `write_file` does.

        Raises `OSError` for the file here.
        """
        wanted = WriteFile(destination)
        async with opened(source, "rb") as file:
            return await self._write(wanted, partial(_pieces, file.fileno()))

    async def file_download(self, source: str, destination: Path | str) -> None:
        """Copy a file of the workspace to a path of this process, where it takes its place once all of it is there.

        Raises `OSError` for the file here.
        """
        await self._save(ReadFile(source), Path(destination))

    async def archive_download(self, destination: Path | str, path: str = "") -> None:
        """Copy a directory of the workspace, without links, to a zip archive at a path of this process.

        Raises `OSError` for the file here.
        """
        await self._save(ReadArchive(path), Path(destination))

    async def file_changes(self, since: int, until: int) -> FileChanges:
        """Which files were not the same after two events, and who changed them: as far as files were kept before and
        after what the agent did.
        """
        found = await self._ask(AskFileChanges(since, until))
        assert isinstance(found, FileChanges)
        return found

    async def file_diff(self, since: int, until: int, path: str = "") -> FileDiff:
        """How a file, or all below a directory, differs between two events."""
        found = await self._ask(AskFileDiff(path, since, until))
        assert isinstance(found, FileDiff)
        return found

    async def git_changes(self) -> GitChanges:
        """Which files are not as they were committed last; the workspace must be the root of a repository."""
        found = await self._ask(AskChanges())
        assert isinstance(found, GitChanges)
        return found

    async def git_diff(self, path: str = "") -> GitDiff:
        """How a file, or all below a directory, differs from the last commit; new files are in it."""
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
    """The bytes of an open file, from its beginning, wherever others read it. Raises `OSError`."""
    at = 0
    while piece := await anyio.to_thread.run_sync(os.pread, descriptor, PIECE, at):
        yield piece
        at += len(piece)


async def _save(pieces: AsyncIterator[bytes], destination: Path) -> None:
    """Write a file whole. Raises `OSError`, and what the pieces do."""
    first = await anext(pieces, b"")  # what is not there leaves nothing behind
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
