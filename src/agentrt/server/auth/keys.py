"""`ApiKey`: the stored record of a key, whose text is shown only once. Pure.

Only the SHA-256 of a key's random part is kept. For a password this hash would be too fast: an attacker who has it
guesses billions of words a second, which slow functions (scrypt, Argon2) prevent. But the random part here is 256 bits
from the system's source, which cannot be guessed; a slow hash would only let strangers keep the server busy.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

import msgspec

from ...errors import ConfigurationError
from ..principals import Principal, Scope

KEY = re.compile(r"agentrt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
"""A key as it is shown: an id, which is not a secret, and 32 random bytes in URL-safe base64 (RFC 4648)."""

LIKE_A_KEY = re.compile(r"agentrt_[0-9a-f]{12}_[A-Za-z0-9_-]{16}")
"""Matches a key, or the beginning of one, inside other text."""

OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")

NOBODY = hashlib.sha256(b"").hexdigest()
"""The digest to compare with for an unknown id, so that this takes as long as for a known one."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key, without its secret; times in seconds since 1970 (UTC)."""

    id: str
    owner: str
    scopes: tuple[Scope, ...]
    digest: str
    """SHA-256 of the random part, in hex."""
    created: float
    expires: float | None = None
    revoked: float | None = None

    def is_good(self, now: float) -> bool:
        """Return whether the key may be used."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def principal(self) -> Principal:
        """The principal of requests with this key."""
        return Principal(self.owner, frozenset(self.scopes), self.id)


def new_key(owner: str, scopes: Iterable[Scope], now: float, expires: float | None = None) -> tuple[ApiKey, str]:
    """Return a key, and its text, which is shown once. Raises `ConfigurationError` for an invalid argument."""
    if not OWNER.fullmatch(owner):
        raise ConfigurationError(
            f"invalid owner {owner!r}: use letters, digits, '.', '_', '@', '+' and '-', at most 128 characters"
        )
    if not (held := tuple(scope for scope in Scope if scope in set(scopes))):
        raise ConfigurationError(f"a key needs a scope: {', '.join(Scope)}")
    if expires is not None and expires <= now:
        raise ConfigurationError("a key must expire in the future")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(id=key_id, owner=owner, scopes=held, digest=digest_of(secret), created=now, expires=expires)
    return key, f"agentrt_{key_id}_{secret}"


def digest_of(secret: str) -> str:
    """Return the digest of a random part, which is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def split(text: str) -> tuple[str, str] | None:
    """Return the id and the random part of a text that may be a key; None if it is none."""
    found = KEY.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_it(key: ApiKey | None, secret: str) -> bool:
    """Return whether a random part is that of a key, in the same time if it is not or if there is no such key."""
    return hmac.compare_digest(key.digest if key is not None else NOBODY, digest_of(secret)) and key is not None
