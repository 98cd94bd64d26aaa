"""`LocalFiles`: the files of a workspace on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from typing import assert_never

import anyio
import anyio.to_thread

from ..errors import WorkspaceError
from ..sandboxes.beneath import Beneath, parts_of
from ..sandboxes.entries import FileEntry, FileList
from .asking import (
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
from .git import changes, diff
from .ignoring import marked
from .kept_files import Earlier, KeptFiles
from .streaming import close, open_archive, open_file, pieces, writer

LISTED = 10_000
"""Maximum number of entries listed of a directory."""

_WRITTEN = 1 << 20
"""Bytes that are collected in memory before they are written."""


class LocalFiles:
    """The files below a directory of this machine; nothing outside of it is reached."""

    def __init__(self, root: str, kept: KeptFiles | None = None) -> None:
        """`kept` has the earlier versions of the files."""
        self.root, self._tree, self._earlier = root, Beneath(root), Earlier(kept)

    async def ask(self, question: Question) -> Found:
        """Return the reply to a question. Raises `WorkspaceError`."""
        match question:
            case ListFiles(at=int()) | AskFileChanges() | AskFileDiff():
                return await self._earlier.ask(question)
            case ListFiles(path=path):
                entries = await anyio.to_thread.run_sync(self._tree.list, path)
                items = await marked(self.root, entries[:LISTED])
                return FileList(path=path, items=items, truncated=len(entries) > LISTED)
            case AskChanges(path=path):
                inner = await anyio.to_thread.run_sync(self._tree.real, path) if parts_of(path) else self.root
                return await changes(inner)
            case AskDiff(path=path):
                return await diff(*await anyio.to_thread.run_sync(self._repository, parts_of(path)))
            case _:
                assert_never(question)

    def _repository(self, parts: list[str]) -> tuple[str, str]:
        """Return the root of the repository that a path is in, and the path there. For a thread."""
        for at in range(len(parts), 0, -1):
            with suppress(WorkspaceError):
                root = self._tree.real("/".join(parts[:at]))
                if os.path.isdir(f"{root}/.git"):
                    return root, "/".join(parts[at:])
        return self.root, "/".join(parts)

    async def read(self, wanted: ReadFile | ReadArchive) -> AsyncGenerator[bytes]:
        """Yield bytes, in pieces. Raises `WorkspaceError`."""
        if isinstance(wanted, ReadFile) and wanted.at is not None:
            yield await self._earlier.read(wanted.path, wanted.at)
            return
        open_it = open_archive if isinstance(wanted, ReadArchive) else open_file
        file = await open_it(self._tree, wanted.path)
        try:
            async with aclosing(pieces(file)) as found:
                async for piece in found:
                    yield piece
        finally:
            await close(file)

    async def write(self, wanted: WriteFile, source: Source) -> FileEntry:
        """Replace a file with the bytes of a source, once all of them have arrived. Raises `WorkspaceError`."""
        return (await self.store(wanted.path, source()))[0]

    async def store(
        self,
        path: str,
        given: AsyncIterator[bytes],
        most: int = sys.maxsize,
        placing: AbstractAsyncContextManager[object] = nullcontext(),
    ) -> tuple[FileEntry, bool]:
        """Write a file of at most `most` bytes; return its entry, and whether something was there before.

        Missing directories are made; a link is replaced, not followed. `placing` is entered once all bytes have arrived
        and before the file is visible. Raises `WorkspaceError`.
        """
        tree = self._tree
        replaced = await anyio.to_thread.run_sync(tree.exists, path)
        writing = tree.replacing(path)
        file = writer(await anyio.to_thread.run_sync(writing.__enter__))
        asking = True
        """Whether an exception comes from `given`."""
        try:
            size, parts, waiting = 0, list[bytes](), 0
            async for piece in given:
                asking = False
                size, waiting = size + len(piece), waiting + len(piece)
                if size > most:
                    raise WorkspaceError("file-too-large", f"the limit is {most} bytes")
                parts.append(piece)
                if waiting >= _WRITTEN:
                    await file.write(b"".join(parts))
                    parts, waiting = [], 0
                asking = True
            asking = False
            await file.write(b"".join(parts))
            await placing.__aenter__()
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(*((WorkspaceError,) if asking else ())):
                await anyio.to_thread.run_sync(writing.__exit__, *sys.exc_info())
            raise
        with anyio.CancelScope(shield=True):
            try:
                await anyio.to_thread.run_sync(writing.__exit__, None, None, None)
            finally:
                await placing.__aexit__(None, None, None)
        return await anyio.to_thread.run_sync(tree.entry, path), replaced
