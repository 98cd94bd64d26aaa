"""`Gate`: limits the rate and the concurrency of each client's requests, and ends streams of invalid keys."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

import anyio
from limits import RateLimitItem
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from starlette.requests import HTTPConnection

from ..problems import refusal
from ..settings import ServerSettings, rate_of

VISIT = "agentrt.visit"
"""The entry of a connection's scope that has its `Visit`."""


class Visit:
    """A request or a socket that is being served; `stream` says whether it is a socket or an event stream."""

    __slots__ = ("cut", "scope", "stream", "who")

    def __init__(self, stream: bool) -> None:
        self.stream = stream
        self.scope = anyio.CancelScope()
        self.who: str | None = None
        """The client that it counts for: a key or an address, once that is known."""
        self.cut = False
        """Whether it was ended because its key is not valid any more."""


class Gate:
    """Counts requests in a sliding window, and open requests and streams, for each key, or each address without one.

    The window has two counters, so its memory does not depend on the number of requests that it allows. An IPv6 /64
    counts as one address, because that is what one subscriber has.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Raise `ConfigurationError` for an invalid rate."""
        self._rate, self._failures = rate_of(settings.rate, "rate"), rate_of(settings.failed_logins, "failed_logins")
        self._most = {True: settings.max_sockets, False: settings.max_requests}
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._visits: dict[tuple[str, bool], set[Visit]] = {}

    async def admit(self, who: str, visit: Visit | None) -> None:
        """Count a request for `who`, a key or an address; a visit that was counted for an address moves to its key.

        Raises `Refusal` (429) if there are too many.
        """
        if visit is not None and visit.who == who:
            return
        await self._hit(self._rate, who, "Too many requests")
        if visit is None:
            return
        if len(self._visits.get((who, visit.stream), ())) >= (most := self._most[visit.stream]):
            what = "sockets and streams are open" if visit.stream else "requests are being answered"
            raise refusal(429, "Too many at once", f"{most} {what}", "too-many-at-once", Retry_After="1")
        self.leave(visit)
        self._visits.setdefault((who, visit.stream), set()).add(visit)
        visit.who = who

    async def failed(self, connection: HTTPConnection) -> None:
        """Count a failed login. Raises `Refusal` (429) if there are too many from the address.

        A valid key is let in all the same: otherwise clients that share an address could lock each other out.
        """
        await self._hit(self._failures, f"failed {address_of(connection)}", "Too many failed logins")

    def leave(self, visit: Visit) -> None:
        """Count a visit no more, because it has ended or counts for another client."""
        if visit.who is not None:
            open_now = self._visits[visit.who, visit.stream]
            open_now.discard(visit)
            if not open_now:
                del self._visits[visit.who, visit.stream]

    def cut(self, is_good: Callable[[str], bool]) -> None:
        """End the sockets and streams of keys that are not valid any more."""
        for (who, stream), visits in self._visits.items():
            kind, _, key = who.partition(" ")
            if stream and kind == "key" and not is_good(key):
                for visit in visits:
                    visit.cut = True
                    visit.scope.cancel()

    async def _hit(self, item: RateLimitItem | None, who: str, title: str) -> None:
        if item is None or await self._limiter.hit(item, who):
            return
        until = (await self._limiter.get_window_stats(item, who)).reset_time
        wait = max(1, math.ceil(until - time.time()))
        raise refusal(429, title, f"the limit is {item}; try again in {wait} s", "rate-limited", Retry_After=str(wait))


def key_of(key_id: str) -> str:
    """Return the client that requests with a key count for."""
    return f"key {key_id}"


def address_of(connection: HTTPConnection) -> str:
    """Return the client that requests without a key count for: the address."""
    client = connection.client
    try:
        address = ip_address(client.host) if client is not None else None
    except ValueError:
        address = None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return f"address {ip_network((address, 64), strict=False)}"
    return f"address {address}"


def visit_of(connection: HTTPConnection) -> Visit | None:
    """Return the visit of a connection; None if there is no gate before the application."""
    visit: Visit | None = connection.scope.get(VISIT)
    return visit
