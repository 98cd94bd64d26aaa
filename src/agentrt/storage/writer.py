"""The writer thread: commits batches of all conversations of a process in groups."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from resource import RLIMIT_NOFILE, getrlimit
from typing import TypeAlias

from ..errors import LogFailed
from ..pacing import Pace
from ..specs import Durability
from ..storing import Committed
from .disk import Disk

Probe: TypeAlias = Callable[[str], None]
"""Called at each point of a commit: "taken", "written", "synced", "acknowledged"; fault tests end the process there."""

GROUP = 1024
"""Maximum number of batches in one group."""

FEW = 8
"""Up to this many files of a group are synced one by one; more are synced together with their file system."""

AT_ONCE = 64
"""Maximum number of batches acknowledged per round of the event loop; the work that follows each takes about 100 us."""

OPEN_FILES = 8192
"""Maximum number of open log files, and at most half of the process's limit; reopening one costs 10 us."""

INTERVAL = 0.2
"""Seconds between two syncs under `Durability.INTERVAL`."""


class LogFile:
    """An append-only file of one conversation; only the writer thread calls its methods."""

    __slots__ = ("_create", "_descriptor", "_disk", "_new", "device", "failed", "path", "synced", "written")

    def __init__(self, path: Path, *, new: bool = False, seq: int = 0, disk: Disk = Disk()) -> None:
        self.path, self.device = path, -1
        self.failed: OSError | None = None
        self.written = self.synced = seq
        """The last seq that was written and was not lost since, and the last one known to be durable."""
        self._create, self._new, self._disk = new, new, disk
        self._descriptor: int | None = None

    def write(self, data: bytes, seq: int) -> bool:
        """Append all of `data`; a new file's directory is created first. Return whether this and all earlier writes
        worked.
        """
        if self.failed is None:
            try:
                descriptor = self.descriptor
                rest = len(data) - self._disk.write(descriptor, data)
                while rest:
                    rest -= self._disk.write(descriptor, data[-rest:])
                self.written = seq
            except OSError as error:
                self.failed = error
        return self.failed is None

    def sync(self) -> None:
        """Make the written data durable, and the names of a new file and its directory."""
        try:
            self._disk.sync(self.descriptor)
            if self._new:
                self._disk.sync_directory(self.path.parent)
                self._disk.sync_directory(self.path.parent.parent)
            self.was_synced()
        except OSError as error:
            self.failed, self.written = error, self.synced  # the kernel may have dropped what came after

    @property
    def made(self) -> bool:
        """Whether the file exists: a new one is created with the first write."""
        return not self._create

    def was_synced(self) -> None:
        """Record that the written data is durable."""
        self.synced, self._new = self.written, False

    @property
    def descriptor(self) -> int:
        """Return the descriptor of the open file. Raises `OSError` if it cannot be opened."""
        if self._descriptor is None:
            self._descriptor = self._disk.open(self.path, new=self._create)
            self._create, self.device = False, self._disk.device(self._descriptor)
        return self._descriptor

    def close(self) -> None:
        """Close the file; unsynced data is not guaranteed."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None  # gone in any case: Linux frees it first
            try:
                self._disk.close(descriptor)
            except OSError as error:
                self.failed = self.failed or error


class _Batch:
    """Bytes to append to a file; None to sync it, and optionally close it."""

    __slots__ = ("close", "data", "file", "seq", "then")

    def __init__(self, file: LogFile, data: bytes | None, seq: int, then: Committed, *, close: bool = False) -> None:
        self.file, self.data, self.seq, self.then, self.close = file, data, seq, then, close


class Writer:
    """One thread that writes and syncs; the batches that arrive meanwhile are its next group.

    A file whose write or sync failed once has failed permanently: the kernel may have dropped data that a second sync
    would report as durable, so it acknowledges nothing more for that file. Other files are not affected.

    Under `Durability.COMMIT`, a batch is acknowledged when it is synced, otherwise when it is written. The thread
    notifies the event loop through an eventfd, which costs half as much as `call_soon_threadsafe`.
    """

    def __init__(
        self,
        root: Path,
        probe: Probe = lambda point: None,
        durability: Durability = Durability.COMMIT,
        disk: Disk = Disk(),
        open_files: int = OPEN_FILES,
    ) -> None:
        self._probe, self._durability, self.disk = probe, durability, disk
        self._limit = min(open_files, max(getrlimit(RLIMIT_NOFILE)[0] // 2, 1))
        self._root = disk.open_directory(root)  # kept open: it sees every error since, which syncfs tells once
        self._device = disk.device(self._root)
        self._given: SimpleQueue[_Batch | None] = SimpleQueue()
        self._committed: SimpleQueue[list[_Batch]] = SimpleQueue()
        self._open: OrderedDict[LogFile, None] = OrderedDict()
        self._dirty: dict[LogFile, None] = {}
        """Files with unsynced data; between groups, only if the durability is not `COMMIT`."""
        self._loop = asyncio.get_running_loop()
        self._pace = Pace(AT_ONCE)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._loop.add_reader(self._bell, self._answer)
        self._thread = threading.Thread(target=self._run, name="agentrt-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of batches that the thread has not taken yet."""
        return self._given.qsize()

    def commit(self, file: LogFile, data: bytes, seq: int, then: Committed) -> None:
        """Append `data`, up to event `seq`; `then` is called on the event loop once committed, or with the error."""
        self._given.put(_Batch(file, data, seq, then))

    async def sync_file(self, file: LogFile, *, close: bool = False) -> None:
        """Sync a file's data, and optionally close the file. Raises `LogFailed` if the file ever failed."""
        ended: asyncio.Future[LogFailed | None] = self._loop.create_future()

        def then(error: LogFailed | None) -> None:
            if not ended.done():
                ended.set_result(error)

        self._given.put(_Batch(file, None, 0, then, close=close))
        if (error := await ended) is not None:
            raise error

    async def close(self) -> None:
        """Commit all batches, then end the thread."""
        self._given.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._loop.remove_reader(self._bell):
            self._acknowledge()
            self._pace.hurry()
            os.close(self._bell)
            self.disk.close(self._root)

    def _run(self) -> None:
        due = time.monotonic() + INTERVAL
        while True:
            group = self._take(self._patience(due))
            last = bool(group) and group[-1] is None
            if batches := group[:-1] if last else group:
                self._commit(batches)  # type: ignore[arg-type]
            if last:
                self._sync(self._dirty)
                return
            if self._durability is Durability.INTERVAL and time.monotonic() >= due:
                self._sync(self._dirty)
                due = time.monotonic() + INTERVAL

    def _take(self, patience: float | None) -> list[_Batch | None]:
        """Return all waiting batches, or the next one; none if there is none within `patience` seconds."""
        given = self._given
        try:
            group = [given.get(timeout=patience)]
        except Empty:
            return []
        while group[-1] is not None and len(group) < GROUP and not given.empty():
            group.append(given.get())
        return group

    def _patience(self, due: float) -> float | None:
        """Return how long to wait for a batch: until the next sync, if there is anything to sync."""
        if not self._dirty or self._durability is Durability.NONE:
            return None
        return max(due - time.monotonic(), 0.001)

    def _commit(self, group: list[_Batch]) -> None:
        probe, wanted, closing = self._probe, list[LogFile](), list[LogFile]()
        probe("taken")
        for batch in group:
            file, data = batch.file, batch.data
            if data is not None:
                self._keep_few_open(file)
                if file.write(data, batch.seq):
                    self._dirty[file] = None
                continue
            wanted.append(file)
            if batch.close:
                closing.append(file)
        probe("written")
        self._sync(self._dirty if self._durability is Durability.COMMIT else self._dirty.keys() & wanted)
        probe("synced")
        for file in closing:
            file.close()
            self._open.pop(file, None)
        self._committed.put(group)
        os.eventfd_write(self._bell, 1)
        probe("acknowledged")

    def _sync(self, files: Iterable[LogFile]) -> None:
        """Sync few files one by one, many with their file system; if that fails, one by one to find the file that
        failed.
        """
        files = list(files)
        if len(files) <= FEW or not self._synced_together(files):
            for file in files:
                file.sync()
        for file in files:
            del self._dirty[file]

    def _synced_together(self, files: list[LogFile]) -> bool:
        if any(file.device != self._device for file in files):
            return False
        try:
            self.disk.sync_file_system(self._root)
        except OSError:
            return False
        for file in files:
            file.was_synced()
        return True

    def _keep_few_open(self, used: LogFile) -> None:
        """Close the least recently written files before another one is opened; unsynced data is synced first."""
        self._open[used] = None
        self._open.move_to_end(used)
        while len(self._open) > self._limit:
            oldest = next(iter(self._open))
            if oldest in self._dirty:
                self._sync(self._dirty)
            oldest.close()
            del self._open[oldest]

    def _answer(self) -> None:
        os.eventfd_read(self._bell)
        self._acknowledge()

    def _acknowledge(self) -> None:
        while not self._committed.empty():
            for batch in self._committed.get():
                self._pace.give(partial(self._tell, batch))

    def _tell(self, batch: _Batch) -> None:
        failed = batch.file.failed
        try:
            batch.then(None if failed is None else LogFailed(batch.file.path, failed))
        except Exception as bug:  # of one conversation: the others of the group wait for their word
            self._loop.call_exception_handler({"message": f"after a commit of {batch.file.path}", "exception": bug})
