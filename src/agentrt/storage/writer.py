"""The writer thread: commits batches of all conversations of a process in groups."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from ..errors import LogFailed

Probe: TypeAlias = Callable[[str], None]
"""Called at each point of a commit: "taken", "written", "synced", "acknowledged"; fault tests end the process there."""

GROUP = 1024
"""Batches in one group at most."""

FEW = 8
"""Up to this many files of a group are synced one by one; more with one sync of their file system."""


class LogFile:
    """An append-only file of one conversation; only the writer thread calls its methods."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path
        self.failed: OSError | None = None
        self._new = new
        self._descriptor: int | None = None

    def write(self, data: bytes) -> None:
        """Append all of `data`; a new file's directory is made first. Raises `OSError`."""
        if self._descriptor is None:
            if self._new:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if self._new else 0)
            self._descriptor = os.open(self.path, flags, 0o600)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def sync(self) -> None:
        """Make what was written durable, and the names of a new file and its directory. Raises `OSError`."""
        os.fdatasync(self.descriptor)
        if self._new:
            sync_directory(self.path.parent)
            sync_directory(self.path.parent.parent)
            self._new = False

    def synced(self) -> None:
        """Note that the whole file system was synced."""
        self._new = False

    @property
    def descriptor(self) -> int:
        """The open file's; only once something was written."""
        assert self._descriptor is not None
        return self._descriptor

    def close(self) -> None:
        """Close the file; what was not synced is not promised."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def sync_file_system(descriptor: int) -> None:
    """Make durable all that was written to the file system of an open file: syncfs(2). Raises `OSError`.

    Since Linux 5.8 it reports the write errors of any file there since the last call.
    """
    import ctypes  # loaded by the first large group

    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are missing, their names durable; for a thread. Raises `OSError`."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_directory(place.parent)


class _Batch:
    """Bytes to append to a file, or None to close it."""

    __slots__ = ("committed", "data", "file")

    def __init__(self, file: LogFile, data: bytes | None, committed: asyncio.Future[None]) -> None:
        self.file, self.data, self.committed = file, data, committed


class Writer:
    """One thread that writes and syncs; the batches that wait meanwhile are its next group.

    A file whose write or sync failed once has failed for good: the kernel may have dropped what a second sync would
    call durable, so nothing more is acknowledged in it. Other files are not touched by that.
    """

    def __init__(self, probe: Probe = lambda point: None) -> None:
        self._probe = probe
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="agentrt-writer", daemon=True)
        self._thread.start()

    async def commit(self, file: LogFile, data: bytes) -> None:
        """Append `data` to `file`; durable when this returns. Raises `LogFailed`."""
        committed: asyncio.Future[None] = self._loop.create_future()
        self._batches.put(_Batch(file, data, committed))
        await committed

    async def close_file(self, file: LogFile) -> None:
        """Close a file after what was given for it is committed, so that nothing is written to it later."""
        closed: asyncio.Future[None] = self._loop.create_future()
        self._batches.put(_Batch(file, None, closed))
        await closed

    async def close(self) -> None:
        """Commit what was given, then end the thread."""
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while True:
            group, last = self._take()
            if group:
                self._commit(group)
            if last:
                return

    def _take(self) -> tuple[list[_Batch], bool]:
        group: list[_Batch] = []
        batch = self._batches.get()
        while batch is not None:
            group.append(batch)
            if len(group) == GROUP:
                return group, False
            try:
                batch = self._batches.get_nowait()
            except Empty:
                return group, False
        return group, True

    def _commit(self, group: list[_Batch]) -> None:
        self._probe("taken")
        dirty: dict[LogFile, None] = {}
        for batch in group:
            if batch.data is not None and self._attempt(batch.file, partial(batch.file.write, batch.data)):
                dirty[batch.file] = None
        self._probe("written")
        self._sync(list(dirty))
        self._probe("synced")
        for batch in group:
            if batch.data is None:
                batch.file.close()
        self._loop.call_soon_threadsafe(_acknowledge, group)
        self._probe("acknowledged")

    def _sync(self, files: list[LogFile]) -> None:
        """Sync few files one by one, many at once; when that fails, one by one to learn whose it was."""
        if len(files) > FEW and len({os.fstat(file.descriptor).st_dev for file in files}) == 1:
            try:
                sync_file_system(files[0].descriptor)
            except OSError:
                pass  # whose it was, their own syncs tell
            else:
                for file in files:
                    file.synced()
                return
        for file in files:
            self._attempt(file, file.sync)

    def _attempt(self, file: LogFile, act: Callable[[], None]) -> bool:
        if file.failed is None:
            try:
                act()
            except OSError as error:
                file.failed = error
        return file.failed is None


def _acknowledge(group: list[_Batch]) -> None:
    for batch in group:
        if batch.committed.done():
            continue
        if batch.data is not None and batch.file.failed is not None:
            batch.committed.set_exception(LogFailed(batch.file.path, batch.file.failed))
        else:
            batch.committed.set_result(None)
