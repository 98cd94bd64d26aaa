"""`SimulatedDisk`: a machine's files in memory, which forget what was not synced when the machine crashes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

from agentrt.storage.disk import Disk

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""


class MachineCrashed(OSError):
    """Raised by every operation from the crash on."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the machine has crashed")


class _File:
    """What the disk has for certain, and what only the kernel has."""

    def __init__(self, durable: bytes) -> None:
        self.durable, self.size = durable, len(durable)
        self.pending: list[tuple[int, bytes]] = []
        """Writes that the next sync makes durable: offset and data."""
        self.dropped: list[tuple[int, bytes]] = []
        """Writes that a sync failed to make durable: no later one tries again, though a reader may still see them."""
        self.broken = False
        """The next sync fails: its writes could not be brought to the disk."""

    def write(self, data: bytes) -> None:
        self.pending.append((self.size, data))
        self.size += len(data)

    def sync(self) -> None:
        if self.broken:
            self.drop()
            self.broken = False
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.durable = _overlay(self.durable, self.pending)
        self.pending.clear()

    def drop(self) -> None:
        self.dropped += self.pending
        self.pending.clear()

    def held(self) -> bytes:
        """What a reader sees while the machine is up."""
        return _overlay(self.durable, [*self.dropped, *self.pending])

    def survivor(self, chance: Random) -> bytes:
        """What a crash leaves: any part of each write that was not synced, in any combination."""
        unsynced = [*self.dropped, *self.pending]
        parts = [(offset, left) for offset, data in unsynced if (left := _left(offset, data, chance)) is not None]
        content = _overlay(self.durable, parts)
        return content.ljust(self.size, b"\0") if unsynced and chance.random() < 0.1 else content


class SimulatedDisk(Disk):
    """Files and names below `root`, of which a crash at operation `crash_at` takes a seeded part.

    Synced content survives, and what was not synced by chance: each write whole, in part, as zeros or not at all,
    also without those before it. A new name survives when its directory was synced, or by chance. `faults` says which
    operation fails, by its number from 1, with which errno; `short` is the part of the writes that write less than
    they were given. `meanwhile` is called as each operation begins: what others do at that time. Files that were made
    before are read from where they are, as durable.
    """

    def __init__(
        self,
        root: Path,
        seed: object = 0,
        crash_at: int = 0,
        faults: Mapping[int, int] | None = None,
        short: float = 0.0,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        self.root, self.operations, self.crashed = root, 0, False
        self._chance, self._crash_at, self._faults = Random(f"disk {seed}"), crash_at, faults or {}
        self._short, self._meanwhile = short, meanwhile
        self._files: dict[Path, _File] = {}
        self._names: dict[Path, bool] = {}
        """The new files and directories, and whether their names are durable."""
        self._opened: dict[int, Path] = {}
        self._descriptors = 0

    def open(self, path: Path, *, new: bool) -> int:
        """As the real one; a new directory is an operation too."""
        for directory in reversed(path.parents) if new else ():
            if directory not in self._names and not directory.exists():
                with self._operation():
                    self._names[directory] = False
        with self._operation():
            if new:
                if path in self._files or path.exists():
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
                self._names[path] = False
                self._files[path] = _File(b"")
            elif path not in self._files:
                self._files[path] = _File(path.read_bytes())
            return self._descriptor(path)

    def open_directory(self, path: Path) -> int:
        """Never fails: it is opened before anything else."""
        return self._descriptor(path)

    def device(self, descriptor: int) -> int:
        """All is on one."""
        return 1

    def write(self, descriptor: int, data: bytes) -> int:
        """All of it, or by chance less."""
        size = self._chance.randint(1, len(data)) if self._chance.random() < self._short else len(data)
        with self._operation():
            self._files[self._opened[descriptor]].write(bytes(data[:size]))
        return size

    def sync(self, descriptor: int) -> None:
        """Content and length; when it fails, what was not durable never will be."""
        file = self._files[self._opened[descriptor]]
        try:
            with self._operation():
                file.sync()
        except MachineCrashed:
            raise
        except OSError:
            file.drop()
            raise

    def sync_directory(self, path: Path) -> None:
        """The names in it."""
        with self._operation():
            self._names |= {name: True for name in self._names if name.parent == path}

    def sync_file_system(self, descriptor: int) -> None:
        """All content and names. When it fails, one file's writes were lost, and the next sync of that file says so."""
        files = [file for file in self._files.values() if file.pending]
        try:
            with self._operation():
                for file in files:
                    file.sync()
                self._names = dict.fromkeys(self._names, True)
        except MachineCrashed:
            raise
        except OSError:
            if files:
                self._chance.choice(files).broken = True
            raise

    def close(self, descriptor: int) -> None:
        """The descriptor is gone also when this fails."""
        del self._opened[descriptor]
        with self._operation():
            pass

    def crash(self) -> None:
        """End all operations now."""
        self.crashed = True

    def held(self, path: Path) -> bytes:
        """What a reader sees of a file."""
        return self._files[path].held()

    def certain(self, path: Path) -> bytes:
        """What no crash can take of a file."""
        made = [name for name in (path, *path.parents) if name in self._names]
        return self._files[path].durable if path in self._files and all(self._names[name] for name in made) else b""

    def materialize(self, path: Path) -> None:
        """Write what a crash of the machine leaves to a real directory."""
        survives = {name: durable or self._chance.random() < 0.5 for name, durable in self._names.items()}
        lost = {name for name, there in survives.items() if not there}
        files = {name: file.survivor(self._chance) for name, file in self._files.items()}
        self._put(path, files, lost)

    def materialize_killed(self, path: Path) -> None:
        """Write what is there when only the process is killed: all that the kernel has."""
        self._put(path, {name: file.held() for name, file in self._files.items()}, set())

    def _put(self, path: Path, files: Mapping[Path, bytes], lost: set[Path]) -> None:
        for name in sorted({*self._names, *files}):
            if lost.isdisjoint((name, *name.parents)):
                real = path / name.relative_to(self.root)
                if name in files:
                    real.write_bytes(files[name])
                else:
                    real.mkdir()

    def _descriptor(self, path: Path) -> int:
        self._descriptors += 1
        self._opened[self._descriptors] = path
        return self._descriptors

    @contextmanager
    def _operation(self) -> Iterator[None]:
        """A place where the machine may crash, before what is done or after it."""
        self._check()
        self.operations += 1
        number = self.operations
        self._meanwhile()
        self._check()
        if number in self._faults:
            raise OSError(self._faults[number], os.strerror(self._faults[number]))
        done = self._chance.random() < 0.5
        self.crashed = number == self._crash_at and not done
        self._check()
        yield
        self.crashed = number == self._crash_at
        self._check()

    def _check(self) -> None:
        if self.crashed:
            raise MachineCrashed


def _overlay(content: bytes, writes: list[tuple[int, bytes]]) -> bytes:
    """The content after writes; what none of them reached before the end is zeros."""
    if not writes:
        return content
    result = bytearray(content)
    for offset, data in writes:
        if len(result) < offset:
            result.extend(bytes(offset - len(result)))
        result[offset : offset + len(data)] = data
    return bytes(result)


def _left(offset: int, data: bytes, chance: Random) -> bytes | None:
    """What of a write reached the disk; None when nothing did."""
    match chance.randrange(6):
        case 0 | 1:
            return data
        case 2:
            return data[: chance.randrange(len(data))]
        case 3:
            return bytes(len(data))
        case 4:
            holes = bytearray(data)
            for start in range(-(offset % SECTOR), len(data), SECTOR):
                if chance.random() < 0.5:
                    begin, end = max(start, 0), min(start + SECTOR, len(data))
                    holes[begin:end] = bytes(end - begin)
            return bytes(holes)
        case _:
            return None
