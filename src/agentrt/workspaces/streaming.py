"""Files as streams of pieces, by aiofiles: nothing blocks the loop, and no more than a piece is in memory."""

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

from .archives import ArchiveFile
from .beneath import Beneath

if TYPE_CHECKING:
    from aiofiles.threadpool.binary import AsyncBufferedIOBase, AsyncBufferedReader

PIECE = 256 * 1024
"""Bytes that are read at once."""

FILE_THREADS, ARCHIVE_THREADS = 8, 2


@cache
def _filing() -> ThreadPoolExecutor:
    """Threads for files alone: the event loop's own ones also look up names, for the calls of every model."""
    return ThreadPoolExecutor(FILE_THREADS, "agentrt-files")


@cache
def _archiving() -> ThreadPoolExecutor:
    """Threads for archives alone, which compress for as long as somebody takes them."""
    return ThreadPoolExecutor(ARCHIVE_THREADS, "agentrt-archives")


async def open_file(tree: Beneath, path: str) -> AsyncBufferedReader:
    """A file below a directory, to read; for the caller to close. Raises `WorkspaceError`."""
    return await _open(path, "rb", lambda name, flags: tree.descriptor(path))


async def open_archive(tree: Beneath, path: str) -> AsyncBufferedReader:
    """The archive of a directory, made while it is read; for the caller to close. Raises `WorkspaceError`."""
    made = await anyio.to_thread.run_sync(ArchiveFile, tree, path)
    return reader(io.BufferedReader(made), _archiving())


@asynccontextmanager
async def opened(path: str | os.PathLike[str], mode: str) -> AsyncIterator[Any]:
    """Any file of this process, in a binary mode; it is closed whatever happens. Raises `OSError`."""
    file = await _open(path, mode, None)
    try:
        yield file
    finally:
        await close(file)


async def _open(
    path: str | os.PathLike[str], mode: str, opener: Callable[[str, int], int] | None
) -> AsyncBufferedReader:
    # the name is that of the errors only where something else opens it: it may be none that a file can have
    name = path if opener is None else "."
    how: Callable[[], Any] = partial(open, name, mode, opener=opener)
    opening: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(_filing(), how)
    try:
        return reader(await asyncio.shield(opening))
    except asyncio.CancelledError:
        opening.add_done_callback(_given_up)  # what a thread has opened is not left open
        raise


def _given_up(opening: asyncio.Future[Any]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


async def close(file: AsyncBufferedIOBase) -> None:
    """Close a file, also when the caller was cancelled; what a thread does with it ends before."""
    with anyio.CancelScope(shield=True):
        await file.close()


def reader(file: io.BufferedReader, executor: ThreadPoolExecutor | None = None) -> AsyncBufferedReader:
    """A file that is open, to be read by others than this thread."""
    wrapped: AsyncBufferedReader = wrap(file, executor=executor or _filing())
    return wrapped


def writer(file: io.BufferedWriter) -> AsyncBufferedIOBase:
    """A file that is open, to be written by others than this thread."""
    wrapped: AsyncBufferedIOBase = wrap(file, executor=_filing())
    return wrapped


async def pieces(file: AsyncBufferedReader, length: int | None = None) -> AsyncGenerator[bytes]:
    """What a file has from where it stands, or so many bytes of that; one that has become shorter is cut."""
    left = length if length is not None else PIECE
    while left > 0 and (piece := await file.read1(min(PIECE, left))):
        left -= len(piece) if length is not None else 0
        yield piece
