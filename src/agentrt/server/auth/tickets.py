"""`Tickets`: credentials for URLs, because a browser can send no headers with a WebSocket. In memory."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable

import msgspec

from ..principals import Principal

LIFE = 30
"""Seconds for which a ticket is valid."""

MOST = 10_000
"""Maximum number of tickets, in all and (`MOST_OF_A_KEY`) of one key; the oldest are dropped."""

MOST_OF_A_KEY = 1_000


class _Issued(msgspec.Struct, frozen=True):
    principal: Principal
    until: float


class Tickets:
    """Tickets, each for one use within `LIFE` seconds.

    They are looked up by their hash, so that the time this takes reveals nothing about existing tickets.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._issued: dict[bytes, _Issued] = {}
        self._of_key: dict[str, dict[bytes, None]] = {}

    def __len__(self) -> int:
        return len(self._issued)

    def issue(self, principal: Principal) -> str:
        """Return a new ticket for a principal."""
        self._drop_old()
        if len(own := self._of_key.get(principal.key, {})) >= MOST_OF_A_KEY:
            self._pop(next(iter(own)))
        ticket = secrets.token_urlsafe(32)
        digest = _digest(ticket)
        self._issued[digest] = _Issued(principal, self._clock() + LIFE)
        self._of_key.setdefault(principal.key, {})[digest] = None
        return ticket

    def redeem(self, ticket: str) -> Principal | None:
        """Return the principal of a ticket, once; None if the ticket is unknown, used or expired."""
        issued = self._pop(_digest(ticket))
        return issued.principal if issued is not None and self._clock() < issued.until else None

    def revoke(self, key: str) -> None:
        """Invalidate the tickets of a key."""
        for digest in list(self._of_key.get(key, ())):
            self._pop(digest)

    def _drop_old(self) -> None:
        now = self._clock()
        while self._issued:
            oldest, issued = next(iter(self._issued.items()))
            if issued.until > now and len(self._issued) < MOST:
                break
            self._pop(oldest)

    def _pop(self, digest: bytes) -> _Issued | None:
        issued = self._issued.pop(digest, None)
        if issued is not None:
            own = self._of_key[issued.principal.key]
            del own[digest]
            if not own:
                del self._of_key[issued.principal.key]
        return issued


def _digest(ticket: str) -> bytes:
    return hashlib.sha256(ticket.encode(errors="surrogatepass")).digest()
