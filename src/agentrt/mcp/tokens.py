"""`Tokens`: an owner's OAuth tokens for servers, encrypted on the shelf of a storage."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any
from weakref import WeakValueDictionary

import anyio
import msgspec

from ..errors import ConfigurationError
from ..secrets import StoreKey
from ..storing import Shelf, replaced

KIND = "mcp-tokens"


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a login. All but `expires` is in the form of the protocol: RFC 6749, 7591, 8414 and 9728."""

    tokens: dict[str, Any]
    client: dict[str, Any]
    authority: dict[str, Any] | None = None
    """The metadata of the authorization server."""
    resource: dict[str, Any] | None = None
    """The metadata of the MCP server, which names its authorization servers."""
    issuer: str | None = None
    expires: float | None = None
    """When the access token expires, in seconds since the epoch, None if that is unknown."""
    wanted: str = ""
    """The scopes that a refused call needed: the next login asks for them, too."""

    @property
    def access(self) -> str:
        """The access token."""
        return str(self.tokens.get("access_token", ""))

    def ends_before(self, time: float) -> bool:
        """Return whether the access token expires at or before a time, in seconds since the epoch."""
        return self.expires is not None and self.expires <= time

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens and the client secret."""
        given = (self.access, self.tokens.get("refresh_token"), self.client.get("client_secret"))
        return tuple(str(one) for one in given if one)


class _Sealed(msgspec.Struct):
    token: str


class Tokens:
    """The tokens of one owner. They are encrypted for the owner's name, so they are of no use to another owner.

    Every method raises `ConfigurationError` if tokens cannot be read or written, or if there is no key.
    """

    def __init__(self, shelf: Shelf, keys: StoreKey, owner: str | None) -> None:
        self._shelf, self._keys, self._owner = shelf, keys, owner
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def lock(self, url: str) -> anyio.Lock:
        """Return the lock for refreshing the tokens of a server, since a refresh token can be used only once."""
        return self._locks.setdefault(url, anyio.Lock())

    async def get(self, url: str) -> Held | None:
        """Return what is stored for the server at an address, None if nothing is."""
        found = await self._shelf.get(KIND, self._name(url))
        if found is None:
            return None
        cipher = await self._keys.there()
        where = self._shelf.where(KIND, self._name(url))
        if cipher is None:
            raise ConfigurationError(f"the key that {where} was encrypted with is not there: log in again")
        try:
            sealed = msgspec.json.decode(found[0], type=_Sealed)
            return msgspec.json.decode(cipher.decrypt(sealed.token, self._place(url)), type=Held)
        except (msgspec.DecodeError, ConfigurationError) as error:
            raise ConfigurationError(f"{where} cannot be read, so log in again: {error}") from error

    async def put(self, url: str, held: Held) -> None:
        """Store this for the server at an address, in place of what was stored."""
        cipher = await self._keys.made()
        token = cipher.encrypt(msgspec.json.encode(held).decode(), self._place(url))
        data = msgspec.json.encode(_Sealed(token))
        await replaced(self._shelf, KIND, self._name(url), lambda before: data)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, as text: anyone who has it can read all tokens."""
        return self._keys.spellings()

    async def ready(self) -> None:
        """Make sure that tokens can be stored."""
        await self._keys.made()

    async def drop(self, url: str) -> bool:
        """Delete what is stored. Return whether there was anything."""
        there = await self._shelf.get(KIND, self._name(url)) is not None
        await self._shelf.delete(KIND, self._name(url))
        return there

    def _name(self, url: str) -> str:
        return sha256(msgspec.json.encode((self._owner, url))).hexdigest()

    def _place(self, url: str) -> str:
        return msgspec.json.encode((KIND, self._owner, url)).decode()


def tokens_of(shelf: Shelf, keys: StoreKey) -> Callable[[str | None], Tokens]:
    """Return a function from owner to tokens."""
    made: WeakValueDictionary[str | None, Tokens] = WeakValueDictionary()
    return lambda owner: made.setdefault(owner, Tokens(shelf, keys, owner))
