"""`Tokens`: what an owner has of OAuth for servers, encrypted on the shelf of a storage."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import msgspec

from ..errors import ConfigurationError
from ..secrets import Cipher, KeyFile
from ..storing import Shelf, replaced

KIND = "mcp-tokens"


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of a login. All but `expires` is as the protocol has it, by RFC 6749, 7591, 8414 and 9728."""

    tokens: dict[str, Any]
    client: dict[str, Any]
    authority: dict[str, Any] | None = None
    """What the authorization server says of itself."""
    resource: dict[str, Any] | None = None
    """What the MCP server says of whom to ask."""
    issuer: str | None = None
    expires: float | None = None
    """When the access token ends, in seconds since the epoch; None: that is not known."""
    wanted: str = ""
    """The scopes without which a call was refused: the next login asks for them, too."""

    @property
    def access(self) -> str:
        """The access token."""
        return str(self.tokens.get("access_token", ""))

    def ends_before(self, time: float) -> bool:
        """Whether the access token ends before a time, in seconds since the epoch."""
        return self.expires is not None and self.expires <= time

    @property
    def secrets(self) -> tuple[str, ...]:
        """What nobody is to see."""
        given = (self.access, self.tokens.get("refresh_token"), self.client.get("client_secret"))
        return tuple(str(one) for one in given if one)


class _Sealed(msgspec.Struct):
    token: str


class Keys:
    """The cipher of a runtime: one that it was given, else that of its user's key file. Raises `ConfigurationError`."""

    def __init__(self, given: Cipher | None, file: KeyFile | None) -> None:
        self._cipher, self._file = given, file

    def spellings(self) -> tuple[str, ...]:
        """The key as text, once it is known."""
        return self._cipher.spellings() if self._cipher is not None else ()

    async def there(self) -> Cipher | None:
        """The cipher, where there is one."""
        if self._cipher is None and self._file is not None:
            self._cipher = await anyio.to_thread.run_sync(self._file.read)
        return self._cipher

    async def made(self) -> Cipher:
        """The cipher; its key is made where there is none."""
        if self._cipher is None:
            if self._file is None:
                raise ConfigurationError("tokens are kept encrypted: give a key, Runtime(cipher=Cipher(...))")
            self._cipher = await anyio.to_thread.run_sync(self._file.make)
        return self._cipher


class Tokens:
    """The tokens of one owner: of no use to another, whose name they are not encrypted for.

    Every method raises `ConfigurationError` for what cannot be read or written, and without a key.
    """

    def __init__(self, shelf: Shelf, keys: Keys, owner: str | None) -> None:
        self._shelf, self._keys, self._owner = shelf, keys, owner
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def lock(self, url: str) -> anyio.Lock:
        """Who holds it refreshes what is held: a refresh token is of use once."""
        return self._locks.setdefault(url, anyio.Lock())

    async def get(self, url: str) -> Held | None:
        """What is held for the server at an address."""
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
        """Hold this for the server at an address, in the place of what was held."""
        cipher = await self._keys.made()
        token = cipher.encrypt(msgspec.json.encode(held).decode(), self._place(url))
        data = msgspec.json.encode(_Sealed(token))
        await replaced(self._shelf, KIND, self._name(url), lambda before: data)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, as text: who has it can read all tokens."""
        return self._keys.spellings()

    async def ready(self) -> None:
        """See that tokens can be kept."""
        await self._keys.made()

    async def drop(self, url: str) -> bool:
        """Forget what is held; whether there was something."""
        there = await self._shelf.get(KIND, self._name(url)) is not None
        await self._shelf.delete(KIND, self._name(url))
        return there

    def _name(self, url: str) -> str:
        return sha256(msgspec.json.encode((self._owner, url))).hexdigest()

    def _place(self, url: str) -> str:
        return msgspec.json.encode((KIND, self._owner, url)).decode()


def tokens_of(shelf: Shelf, cipher: Cipher | None, home: Path | None) -> Callable[[str | None], Tokens]:
    """The tokens of each owner; without a cipher they are encrypted with the key file of a user's home directory."""
    keys = Keys(cipher, KeyFile.of(home) if home is not None else None)
    made: WeakValueDictionary[str | None, Tokens] = WeakValueDictionary()
    return lambda owner: made.setdefault(owner, Tokens(shelf, keys, owner))
