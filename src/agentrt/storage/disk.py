"""`Disk`: the system calls of the writer in one place, so that a test can replace them with failing ones."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..loading import checked, libc

PRIVATE = 0o700
"""The mode of a directory that only its owner may enter. Git makes files in a store that all may read."""


class Disk:
    """The real system calls. Every method raises `OSError`."""

    def open(self, path: Path, *, new: bool) -> int:
        """Return a descriptor for appending; a new file and its directory are created."""
        if new:
            path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if new else 0)
        return os.open(path, flags, 0o600)

    def open_directory(self, path: Path) -> int:
        """Return a descriptor of a directory."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def device(self, descriptor: int) -> int:
        """Return the file system of an open file."""
        return os.fstat(descriptor).st_dev

    def write(self, descriptor: int, data: bytes) -> int:
        """Append some of `data`, and return the number of bytes."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Make a file's content durable."""
        os.fdatasync(descriptor)

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        sync_directory(path)

    def sync_file_system(self, descriptor: int) -> None:
        """Make everything written to the file system of an open file durable."""
        sync_file_system(descriptor)

    def close(self, descriptor: int) -> None:
        """Close a file."""
        os.close(descriptor)


PROBE = bytes(64 * 1024)
"""Content of a probe: more than the space that is left in a block or that a file system holds back."""


def write_probe(disk: Disk, path: Path) -> None:
    """Write and sync a new file, and remove it; for a thread. Raises `OSError`."""
    path.unlink(missing_ok=True)
    descriptor = disk.open(path, new=True)
    try:
        rest = len(PROBE)
        while rest:
            rest -= disk.write(descriptor, PROBE[-rest:])
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)
        path.unlink(missing_ok=True)


def sync_file_system(descriptor: int) -> None:
    """Make everything written to the file system of an open file durable: syncfs(2). Raises `OSError`.

    Since Linux 5.8, it reports the write errors of any file there since the last call.
    """
    checked(libc().syncfs(descriptor))


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(path: Path) -> None:
    """Create a directory and its missing parents, for their owner only, with durable names; for a thread.

    Raises `OSError`.
    """
    missing = [place for place in (path, *path.parents) if not place.exists()]
    for place in reversed(missing):
        with suppress(FileExistsError):
            place.mkdir(PRIVATE)
            place.chmod(PRIVATE)  # whatever the umask is
    for place in missing:
        sync_directory(place.parent)


def keep_private(directory: Path, *, shared: bool = False) -> str:
    """Let only its owner enter a directory that exists. Return why that is not done; "" if it is. For a thread.

    A `shared` directory may have other contents: it is left as it is if others are likely to need them.
    """
    status = directory.stat()
    if not status.st_mode & 0o077:
        return ""
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if shared and status.st_mode & stat.S_ISVTX:
        return "it is for the temporary files of all users"
    if shared and _is_above(directory, (Path.cwd(), Path.home())):
        return "it is, or is above, the working directory or your home directory"
    try:
        directory.chmod(PRIVATE)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _is_above(directory: Path, places: Iterable[Path]) -> bool:
    return any(place.resolve().is_relative_to(directory.resolve()) for place in places)


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file, readable by its owner only: a reader sees the old one or the new one; for a thread.

    Unless it is `durable`, which a cache need not be, nothing is synced. Raises `OSError`, and leaves nothing of the
    new file behind.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(handle)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if durable:
        sync_directory(path.parent)
