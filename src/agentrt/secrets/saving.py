"""Converts the sources of secrets to the form that is saved, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from ..errors import ConfigurationError
from ..specs.secrets import EnvironmentSecret, SavedCallable, SavedLookup, SavedSecret, SavedStatic, Token
from .cipher import Cipher
from .sources import CallableSecret, LookupSecret, SecretSource, StaticSecret


class MissingSecret:
    """A secret whose value was not restored. `saved` is its saved form, with tokens that were encrypted for `place`."""

    def __init__(self, saved: SavedSecret, place: str = "") -> None:
        self.saved, self.place, self.description = saved, place, saved.description

    def tokens(self) -> dict[str, Token]:
        """Return its encrypted values, by the places that they are encrypted for."""
        match self.saved:
            case SavedStatic(token=token) if token:
                return {self.place: token}
            case SavedLookup(headers=headers):
                return {f"{self.place}/{name}": token for name, token in headers.items() if token}
            case _:
                return {}

    def at(self, place: str) -> SavedSecret:
        """Return its saved form for a place; without its tokens if that is another one: there none can be decrypted."""
        match self.saved:
            case SavedStatic() if place != self.place:
                return SavedStatic("", self.description)
            case SavedLookup(url=url, headers=headers) if place != self.place:
                return SavedLookup(url, dict.fromkeys(headers, ""), self.description)
            case _:
                return self.saved


KnownSource: TypeAlias = SecretSource | MissingSecret


def saved(sources: Mapping[str, KnownSource], cipher: Cipher | None, scope: str) -> dict[str, SavedSecret]:
    """Return sources as the log may hold them: the values encrypted for `scope` and their names, or left out."""
    return {name: _saved(source, cipher, f"{scope}/{name}") for name, source in sources.items()}


def _saved(source: KnownSource, cipher: Cipher | None, place: str) -> SavedSecret:
    match source:
        case StaticSecret():
            return SavedStatic(_token(source.value, cipher, place), source.description)
        case EnvironmentSecret():
            return source
        case LookupSecret():
            headers = {name: _token(value, cipher, f"{place}/{name}") for name, value in source.headers.items()}
            return SavedLookup(source.url, headers, source.description)
        case CallableSecret():
            return SavedCallable(source.description)
        case MissingSecret():
            return source.at(place)
    assert_never(source)


def _token(value: str, cipher: Cipher | None, place: str) -> str:
    return cipher.encrypt(value, place) if cipher is not None else ""


def restored(saved: Mapping[str, SavedSecret], cipher: Cipher | None, scope: str) -> dict[str, KnownSource]:
    """Return the sources that were saved; those whose values cannot be restored as `MissingSecret`.

    Raises `ConfigurationError` if one was encrypted with another key, for another scope, or under another name.
    """
    sources: dict[str, KnownSource] = {}
    for name, secret in saved.items():
        try:
            sources[name] = _restored(secret, cipher, f"{scope}/{name}")
        except ConfigurationError as error:
            raise ConfigurationError(f"cannot decrypt secret {name!r}: {error}") from error
    return sources


def _restored(secret: SavedSecret, cipher: Cipher | None, place: str) -> KnownSource:
    match secret:
        case EnvironmentSecret():
            return secret
        case SavedStatic() if secret.token and cipher is not None:
            return StaticSecret(cipher.decrypt(secret.token, place), secret.description)
        case SavedLookup() if not secret.headers:
            return LookupSecret(secret.url, description=secret.description)
        case SavedLookup() if all(secret.headers.values()) and cipher is not None:
            headers = {name: cipher.decrypt(token, f"{place}/{name}") for name, token in secret.headers.items()}
            return LookupSecret(secret.url, headers, secret.description)
        case _:
            return MissingSecret(secret, place)
