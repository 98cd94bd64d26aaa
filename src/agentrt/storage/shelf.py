"""`FileShelf`: small documents below a directory, one file each; `Document`: one of them."""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from pathlib import Path

import anyio.to_thread

from ..errors import ConfigurationError, VersionConflict
from ..storing import Shelf
from .disk import make_directories, replace_file, sync_directory

_DIRECTORIES = {"rules": "rules", "intents": "rules/intents"}
"""The directories of some kinds of documents; those of other kinds are below `shelf`."""

_ALONE = ("keys",)
"""Kinds with a single document of that name, which is in the directory itself: no other user may write it."""


class Document:
    """A file that is replaced as a whole, readable by its owner only; blocking, for a thread.

    Its version is derived from its content, so that a file edited by hand has one too. All methods raise
    `ConfigurationError` for a file that cannot be read or written. A `guarded` file is not read if users other than its
    owner may write it.
    """

    def __init__(self, path: Path, lock: Path | None = None, *, guarded: bool = False) -> None:
        self.path, self._lock, self._guarded = path, lock or path.with_suffix(".lock"), guarded

    def read(self) -> tuple[bytes, int] | None:
        """Return the bytes and their version; None if there is no file."""
        try:
            with open(self.path, "rb") as file:
                if self._guarded and os.fstat(file.fileno()).st_mode & 0o022:
                    raise ConfigurationError(f"others may write {self.path}: chmod 600 it")
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f"cannot read {self.path}: {error.strerror or error}") from error
        return data, _version(data)

    def write(self, data: bytes, version: int) -> int:
        """Replace the file of a version, durably; return the new version. Raises `VersionConflict` if the version
        differs.
        """
        try:
            make_directories(self.path.parent)
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                held = self.read()
                if (0 if held is None else held[1]) != version:
                    raise VersionConflict(self.path.stem)
                replace_file(self.path, data, durable=True)
        except OSError as error:
            raise ConfigurationError(f"cannot write {self.path}: {error.strerror or error}") from error
        return _version(data)

    def delete(self) -> None:
        """Delete the file, if there is one."""
        try:
            self.path.unlink(missing_ok=True)
            if self.path.parent.exists():
                sync_directory(self.path.parent)
        except OSError as error:
            raise ConfigurationError(f"cannot delete {self.path}: {error.strerror or error}") from error


class FileShelf(Shelf):
    """A `Shelf` below a directory. Nothing is created there before a document is put."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def get(self, kind: str, name: str) -> tuple[bytes, int] | None:
        return await anyio.to_thread.run_sync(self._document(kind, name).read)

    async def put(self, kind: str, name: str, data: bytes, version: int) -> int:
        return await anyio.to_thread.run_sync(self._document(kind, name).write, data, version)

    async def delete(self, kind: str, name: str) -> None:
        await anyio.to_thread.run_sync(self._document(kind, name).delete)

    async def names(self, kind: str) -> list[str]:
        pattern = f"{kind}.json" if kind in _ALONE else "*.json"
        directory = self._directory(kind)
        return await anyio.to_thread.run_sync(lambda: sorted(path.stem for path in directory.glob(pattern)))

    def where(self, kind: str, name: str) -> str:
        return str(self._document(kind, name).path)

    def _directory(self, kind: str) -> Path:
        return self._root if kind in _ALONE else self._root / _DIRECTORIES.get(kind, f"shelf/{kind}")

    def _document(self, kind: str, name: str) -> Document:
        if kind in _ALONE and name != kind:
            raise ConfigurationError(f"the only document of kind {kind!r} is {kind!r}, not {name!r}")
        directory, alone = self._directory(kind), kind in _ALONE
        return Document(directory / f"{name}.json", directory / (f"{kind}.lock" if alone else "lock"), guarded=alone)


def _version(data: bytes) -> int:
    return int.from_bytes(sha256(data).digest()[:8], "big") >> 1 or 1
