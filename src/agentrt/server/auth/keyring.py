"""`Keyring`: the keys of a store, in one file that several processes share."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import anyio.to_thread
import msgspec

from ...errors import ConfigurationError
from ...storage.disk import make_directories, replace_file, sync_directory
from ..principals import Scope
from .keys import ApiKey, new_key

VERSION = 1
FILE = "keys.json"

Stamp = tuple[int, int, int]
"""What of a file changes with it."""


class _File(msgspec.Struct, frozen=True):
    version: int = VERSION
    keys: tuple[ApiKey, ...] = ()


_decoder = msgspec.json.Decoder(_File)


class NoSuchKey(ConfigurationError):
    """There is no key of that id."""


class Keyring:
    """The keys of a store, in the file `keys.json` of its root, mode 0600, replaced as a whole under a lock.

    A key that was revoked stays in it, so that a store which had keys is never open to everyone again. What cannot be
    read lets nobody in. The calls that are not async block; all raise `ConfigurationError` for a file that is broken,
    that others than its owner may write, or that cannot be written.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock = root / FILE, clock
        self.keys: Mapping[str, ApiKey] = MappingProxyType({})
        """Those that the file had when it was last looked at."""
        self._stamp: Stamp | None = None
        self.closed = False
        """Whether it ever had a key."""

    def is_good(self, key_id: str) -> bool:
        """Whether a key may be used now."""
        return (key := self.keys.get(key_id)) is not None and key.is_good(self._clock())

    async def look(self) -> None:
        """Read the file again when it has changed."""
        await anyio.to_thread.run_sync(self.look_now)

    def look_now(self) -> None:
        """Read the file again when it has changed."""
        stamp = self._stamped()
        if stamp == self._stamp and stamp is not None:
            return
        try:
            held = self._read()
        except ConfigurationError:
            self._take((), None)
            self.closed = True
            raise
        self._take(held, stamp)

    def create(self, owner: str, scopes: Iterable[Scope], days: float | None = None) -> str:
        """Make a key that may be used for so many days, None: for ever; its text, which cannot be had again."""
        now = self._clock()
        key, text = new_key(owner, scopes, now, now + days * 86400 if days is not None else None)
        with self._changing() as held:
            self._write((*held, key))
        return text

    def revoke(self, key_id: str) -> None:
        """Have a key not be good any more. Raises `NoSuchKey`."""
        with self._changing() as held:
            if all(key.id != key_id for key in held):
                raise NoSuchKey(f"there is no key {key_id!r}: 'agentrt keys list' shows them")
            now = self._clock()
            self._write(
                tuple(
                    msgspec.structs.replace(key, revoked=now) if key.id == key_id and key.revoked is None else key
                    for key in held
                )
            )

    @contextmanager
    def _changing(self) -> Iterator[tuple[ApiKey, ...]]:
        """While no other process changes the file: what is in it."""
        try:
            make_directories(self.path.parent)
            descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield self._read()
        except OSError as error:
            raise ConfigurationError(f"cannot write the keys in {self.path}: {error.strerror}") from error

    def _read(self) -> tuple[ApiKey, ...]:
        try:
            with open(self.path, "rb") as opened:
                if os.fstat(opened.fileno()).st_mode & 0o022:
                    raise ConfigurationError(f"others may write the keys in {self.path}: chmod 600 it")
                file = _decoder.decode(opened.read())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigurationError(f"cannot read the keys in {self.path}: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigurationError(f"cannot read the keys in {self.path}: {error}; mend or move it") from error
        if file.version != VERSION:
            raise ConfigurationError(f"the keys in {self.path} are of version {file.version}: update agentrt")
        return file.keys

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        replace_file(self.path, msgspec.json.format(msgspec.json.encode(_File(VERSION, keys)), indent=2) + b"\n")
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)  # what was revoked stays so, whatever happens to the machine
        finally:
            os.close(descriptor)
        sync_directory(self.path.parent)
        self._take(keys, self._stamped())

    def _take(self, keys: tuple[ApiKey, ...], stamp: Stamp | None) -> None:
        self.keys, self._stamp = MappingProxyType({key.id: key for key in keys}), stamp
        self.closed = self.closed or bool(keys)

    def _stamped(self) -> Stamp | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def has_keys(root: Path) -> bool:
    """Whether a store has a key that may be used; for a thread. Raises `ConfigurationError`."""
    keyring = Keyring(root)
    keyring.look_now()
    return any(keyring.is_good(key_id) for key_id in keyring.keys)
