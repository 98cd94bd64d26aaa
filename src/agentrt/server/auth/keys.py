"""`ApiKey`: what is known of a key that was shown once. Pure.

Of a key only the SHA-256 of its random part is kept. For a password that would be too fast: an attacker who has the
hash guesses words at billions a second, which slow functions (scrypt, Argon2) are for. The random part here is 256 bits
from the system's source, so there is nothing to guess; a slow hash would only let strangers keep the server busy.
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
"""A key as it is shown: an id, which is no secret, and 32 random bytes in URL-safe base64 (RFC 4648)."""

LIKE_A_KEY = re.compile(r"agentrt_[0-9a-f]{12}_[A-Za-z0-9_-]{16}")
"""What part of a key is known by, wherever it stands."""

OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")

NOBODY = hashlib.sha256(b"").hexdigest()
"""What is compared for an id that there is not, so that this takes as long."""


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
        """Whether it may be used."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def principal(self) -> Principal:
        """On whose behalf it is used."""
        return Principal(self.owner, frozenset(self.scopes), self.id)


def new_key(owner: str, scopes: Iterable[Scope], now: float, expires: float | None = None) -> tuple[ApiKey, str]:
    """A key, and the text that is shown once. Raises `ConfigurationError` for an owner or scopes that cannot be."""
    if not OWNER.fullmatch(owner):
        raise ConfigurationError(f"{owner!r} is no owner: letters, digits, '.', '_', '@', '+' and '-', 128 at most")
    if not (held := tuple(scope for scope in Scope if scope in set(scopes))):
        raise ConfigurationError(f"a key needs a scope: {', '.join(Scope)}")
    if expires is not None and expires <= now:
        raise ConfigurationError("a key expires later than now")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(id=key_id, owner=owner, scopes=held, digest=digest_of(secret), created=now, expires=expires)
    return key, f"agentrt_{key_id}_{secret}"


def digest_of(secret: str) -> str:
    """What is kept of a random part."""
    return hashlib.sha256(secret.encode()).hexdigest()


def split(text: str) -> tuple[str, str] | None:
    """The id and the random part of what may be a key."""
    found = KEY.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_it(key: ApiKey | None, secret: str) -> bool:
    """Whether a random part is that of a key; it takes as long when it is not, and when there is no such key."""
    return hmac.compare_digest(key.digest if key is not None else NOBODY, digest_of(secret)) and key is not None
