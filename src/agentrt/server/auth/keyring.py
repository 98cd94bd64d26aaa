"""`Keyring`: the keys of a storage, in one document that several processes share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec

from ...errors import ConfigurationError
from ...storing import Shelf, replaced
from ..principals import Scope
from .keys import ApiKey, new_key

VERSION = 1
KEYS = "keys"
"""The kind of the document, and its name."""


class _File(msgspec.Struct, frozen=True):
    version: int = VERSION
    keys: tuple[ApiKey, ...] = ()


_decoder = msgspec.json.Decoder(_File)


class NoSuchKey(ConfigurationError):
    """There is no key with that id."""


class Keyring:
    """The keys of a storage, in one document of its shelf, replaced as a whole.

    A revoked key stays in the document, so that a storage that had keys is never open to everyone again. If a document
    cannot be read, nobody is let in. All async methods raise `ConfigurationError` for a document that is broken, that
    others than its owner may write, or that cannot be written.
    """

    def __init__(self, shelf: Shelf, clock: Callable[[], float] = time.time) -> None:
        self._shelf, self._clock = shelf, clock
        self.keys: Mapping[str, ApiKey] = MappingProxyType({})
        """The keys of the document, when it was last read, by id."""
        self._version = 0
        self.closed = False
        """Whether a key is needed: there was one, or the document could not be read."""

    def is_good(self, key_id: str) -> bool:
        """Return whether a key may be used now."""
        return (key := self.keys.get(key_id)) is not None and key.is_good(self._clock())

    async def look(self) -> None:
        """Read the document again if it has changed."""
        try:
            data, version = await self._shelf.get(KEYS, KEYS) or (None, 0)
            if version and version == self._version:
                return
            self._take(self._held(data), version)
        except ConfigurationError:
            self._take((), 0)
            self.closed = True
            raise

    async def create(self, owner: str, scopes: Iterable[Scope], days: float | None = None) -> str:
        """Make a key that is valid for `days` (None: for ever); return its text, which cannot be shown again."""
        now = self._clock()
        key, text = new_key(owner, scopes, now, now + days * 86400 if days is not None else None)
        await self._change(lambda held: (*held, key))
        return text

    async def revoke(self, key_id: str) -> None:
        """Revoke a key. Raises `NoSuchKey`."""
        now = self._clock()

        def revoked(held: tuple[ApiKey, ...]) -> Iterable[ApiKey]:
            if all(key.id != key_id for key in held):
                raise NoSuchKey(f"unknown key {key_id!r}: 'agentrt keys list' shows the keys")
            for key in held:
                again = key.id != key_id or key.revoked is not None
                yield key if again else msgspec.structs.replace(key, revoked=now)

        await self._change(revoked)

    async def _change(self, change: Callable[[tuple[ApiKey, ...]], Iterable[ApiKey]]) -> None:
        def changed(data: bytes | None) -> bytes:
            keys = tuple(change(self._held(data)))
            return msgspec.json.format(msgspec.json.encode(_File(VERSION, keys)), indent=2) + b"\n"

        data = await replaced(self._shelf, KEYS, KEYS, changed)
        self._take(self._held(data), 0)

    def _held(self, data: bytes | None) -> tuple[ApiKey, ...]:
        if data is None:
            return ()
        where = self._shelf.where(KEYS, KEYS)
        try:
            file = _decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigurationError(f"cannot read the keys in {where}: {error}; fix or move it") from error
        if file.version != VERSION:
            raise ConfigurationError(f"the keys in {where} are of version {file.version}: update agentrt")
        return file.keys

    def _take(self, keys: tuple[ApiKey, ...], version: int) -> None:
        self.keys, self._version = MappingProxyType({key.id: key for key in keys}), version
        self.closed = self.closed or bool(keys)


async def has_keys(shelf: Shelf) -> bool:
    """Return whether a storage has a key that may be used. Raises `ConfigurationError`."""
    keyring = Keyring(shelf)
    await keyring.look()
    return any(keyring.is_good(key_id) for key_id in keyring.keys)
