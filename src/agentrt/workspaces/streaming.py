"""Files as streams of pieces, with aiofiles: nothing blocks the loop, and only one piece is in memory."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import anyio
from aiofiles.threadpool import wrap

from ..sandboxes.beneath import Beneath

if TYPE_CHECKING:
    from aiofiles.threadpool.binary import AsyncBufferedIOBase, AsyncBufferedReader

    from .archives import ArchiveFile

PIECE = 256 * 1024
"""Maximum number of bytes read at once."""

FILE_THREADS, ARCHIVE_THREADS = 8, 2


@cache
def _filing() -> ThreadPoolExecutor:
    """Return threads for files only: the event loop's own threads also resolve host names, for every model call."""
    return ThreadPoolExecutor(FILE_THREADS, "agentrt-files")


@cache
def _archiving() -> ThreadPoolExecutor:
    """Return threads for archives only: they compress for as long as a client downloads."""
    return ThreadPoolExecutor(ARCHIVE_THREADS, "agentrt-archives")


async def open_file(tree: Beneath, path: str) -> AsyncBufferedReader:
    """Open a file below a directory for reading; the caller closes it. Raises `WorkspaceError`."""
    return await _open(path, "rb", lambda name, flags: tree.descriptor(path))


async def open_archive(tree: Beneath, path: str) -> AsyncBufferedReader:
    """Open the archive of a directory, made while it is read; the caller closes it. Raises `WorkspaceError`."""
    return reader(io.BufferedReader(await anyio.to_thread.run_sync(_archive, tree, path)), _archiving())


def _archive(tree: Beneath, path: str) -> ArchiveFile:
    from .archives import ArchiveFile

    return ArchiveFile(tree, path)


@asynccontextmanager
async def opened(path: str | os.PathLike[str], mode: str) -> AsyncIterator[Any]:
    """Open any file in a binary mode, and close it after the body. Raises `OSError`."""
    file = await _open(path, mode, None)
    try:
        yield file
    finally:
        await close(file)


async def _open(
    path: str | os.PathLike[str], mode: str, opener: Callable[[str, int], int] | None
) -> AsyncBufferedReader:
    # with an opener the name appears only in errors, and `path` may be no valid name of a file
    name = path if opener is None else "."
    how: Callable[[], Any] = partial(open, name, mode, opener=opener)
    opening: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(_filing(), how)
    try:
        return reader(await asyncio.shield(opening))
    except asyncio.CancelledError:
        opening.add_done_callback(_given_up)  # close the file that the thread opens
        raise


def _given_up(opening: asyncio.Future[Any]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


async def close(file: AsyncBufferedIOBase) -> None:
    """Close a file, even if the caller was cancelled, once no thread uses it any more."""
    with anyio.CancelScope(shield=True):
        await file.close()


def reader(file: io.BufferedReader, executor: ThreadPoolExecutor | None = None) -> AsyncBufferedReader:
    """Wrap an open file, so that other threads read it."""
    wrapped: AsyncBufferedReader = wrap(file, executor=executor or _filing())
    return wrapped


def writer(file: io.BufferedWriter) -> AsyncBufferedIOBase:
    """Wrap an open file, so that other threads write it."""
    wrapped: AsyncBufferedIOBase = wrap(file, executor=_filing())
    return wrapped


async def pieces(file: AsyncBufferedReader, length: int | None = None) -> AsyncGenerator[bytes]:
    """Yield a file from its current position on, or `length` bytes of it; fewer if it has become shorter."""
    left = length if length is not None else PIECE
    while left > 0 and (piece := await file.read1(min(PIECE, left))):
        left -= len(piece) if length is not None else 0
        yield piece
