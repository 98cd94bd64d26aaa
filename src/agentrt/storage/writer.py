"""The writer thread: commits batches of all conversations of a process in groups."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

from ..errors import LogFailed
from ..protocols import Committed

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

    def write(self, data: bytes) -> bool:
        """Append all of `data`; a new file's directory is made first. Whether that worked, and all before it did."""
        if self.failed is None:
            try:
                descriptor = self._descriptor if self._descriptor is not None else self._open()
                rest = len(data) - os.write(descriptor, data)
                while rest:
                    rest -= os.write(descriptor, data[-rest:])
            except OSError as error:
                self.failed = error
        return self.failed is None

    def _open(self) -> int:
        if self._new:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if self._new else 0)
        self._descriptor = os.open(self.path, flags, 0o600)
        return self._descriptor

    def sync(self) -> None:
        """Make what was written durable, and the names of a new file and its directory."""
        try:
            os.fdatasync(self.descriptor)
            if self._new:
                sync_directory(self.path.parent)
                sync_directory(self.path.parent.parent)
                self._new = False
        except OSError as error:
            self.failed = error

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

    __slots__ = ("data", "file", "then")

    def __init__(self, file: LogFile, data: bytes | None, then: Committed) -> None:
        self.file, self.data, self.then = file, data, then


class Writer:
    """One thread that writes and syncs; the batches that wait meanwhile are its next group.

    A file whose write or sync failed once has failed for good: the kernel may have dropped what a second sync would
    call durable, so nothing more is acknowledged in it. Other files are not touched by that.

    It tells the event loop through an eventfd, which costs half of what `call_soon_threadsafe` does.
    """

    def __init__(self, probe: Probe = lambda point: None) -> None:
        self._probe = probe
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._committed: SimpleQueue[list[_Batch]] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._loop.add_reader(self._bell, self._answer)
        self._thread = threading.Thread(target=self._run, name="agentrt-writer", daemon=True)
        self._thread.start()

    def commit(self, file: LogFile, data: bytes, then: Committed) -> None:
        """Append `data` to `file`; `then` is told on the event loop once it is durable, or why not."""
        self._batches.put(_Batch(file, data, then))

    async def close_file(self, file: LogFile) -> None:
        """Close a file after what was given for it is committed, so that nothing is written to it later."""
        closed: asyncio.Future[None] = self._loop.create_future()
        self._batches.put(_Batch(file, None, lambda error: None if closed.done() else closed.set_result(None)))
        await closed

    async def close(self) -> None:
        """Commit what was given, then end the thread."""
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._loop.remove_reader(self._bell):
            self._acknowledge()
            os.close(self._bell)

    def _run(self) -> None:
        get, empty, last = self._batches.get, self._batches.empty, False
        while not last:
            group: list[_Batch] = []
            while not last and len(group) < GROUP and not (group and empty()):
                if (batch := get()) is not None:
                    group.append(batch)
                last = batch is None
            if group:
                self._commit(group)

    def _commit(self, group: list[_Batch]) -> None:
        self._probe("taken")
        dirty = {batch.file: None for batch in group if batch.data is not None and batch.file.write(batch.data)}
        self._probe("written")
        if len(dirty) <= FEW or not _synced_together(list(dirty)):
            for file in dirty:
                file.sync()
        self._probe("synced")
        for batch in group:
            if batch.data is None:
                batch.file.close()
        self._committed.put(group)
        os.eventfd_write(self._bell, 1)
        self._probe("acknowledged")

    def _answer(self) -> None:
        os.eventfd_read(self._bell)
        self._acknowledge()

    def _acknowledge(self) -> None:
        while not self._committed.empty():
            for batch in self._committed.get():
                failed = batch.file.failed
                batch.then(None if failed is None else LogFailed(batch.file.path, failed))


def _synced_together(files: list[LogFile]) -> bool:
    """Sync many files with one call. When that fails, their own syncs tell whose it was."""
    if len({os.fstat(file.descriptor).st_dev for file in files}) > 1:
        return False
    try:
        sync_file_system(files[0].descriptor)
    except OSError:
        return False
    for file in files:
        file.synced()
    return True
