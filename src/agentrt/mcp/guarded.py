"""`Guarded`: HTTP to a server, but not to private addresses that it points to. Heavy, so imported when it is needed.

A discovery document names the addresses of the authorization server. An untrusted server may put addresses of this
network in it, or names that stand for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx2

from ..network.addresses import PORTS, AddressRefused, Guard, HostUnknown
from ..network.pinning import send, transport

LONGEST_ANSWER = 64 << 20
"""Maximum bytes of one answer, and of each event in a stream of events (except with the transport "sse")."""


class Guarded(httpx2.AsyncBaseTransport):
    """A transport that sends requests to the server's own origin as they are. Another host is looked up and checked
    first, and the request goes to the address that was found, so that the name cannot change its address meanwhile.
    """

    def __init__(self, url: str) -> None:
        given = httpx2.URL(url)
        self._own = given
        self._inner, self._guard = transport(given), Guard()
        self.ended = anyio.Event()
        """Set when the server no longer knows the session."""
        self.refusal = ""
        """The HTTP error of the last POST, with what to do; "" if it had none."""
        self.has_session = False
        """Whether the server has given a session id, so that it keeps state for its users."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises `ConnectError` if another host is unknown or has a private address. Reading an answer
        that is too long raises `ReadError`.
        """
        response = await self._sent(request)
        if request.method == "POST":
            self.refusal = _refusal(response.status_code)
        self.has_session = self.has_session or "mcp-session-id" in response.headers
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            self.ended.set()  # the server has forgotten the session: a new one is begun
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        if _is_own(request.url, self._own):
            return await self._inner.handle_async_request(request)
        try:
            return await send(self._inner, request, self._guard)
        except (AddressRefused, HostUnknown) as error:
            raise _said(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _refusal(status: int) -> str:
    """Return an HTTP error in words, with what to do (RFC 9110, 15.5); "" if the status is not an error."""
    if status < 400:
        return ""
    hint = next((hint for codes, hint in _HINTS if status in codes), "")
    return f"it answered HTTP {status}{hint}"


_HINTS = (
    ((401,), ": log in, or give it a key"),
    ((403,), ": these credentials may not do that"),
    ((404, 405), ": correct its address"),
    ((429,), ": it is asked too often, wait a while"),
    (range(500, 600), ": the server has failed, try again later"),
)


async def check_public(url: str, own: str) -> None:
    """Raise `ConnectError` if a URL is not a web address, or is neither public nor on the server at `own`."""
    given = httpx2.URL(url)
    if given.scheme not in ("http", "https"):
        raise httpx2.ConnectError(f"the server points to {url!r}, which is not a web address")
    if not _is_own(given, httpx2.URL(own)):
        try:
            await Guard().addresses(given.raw_host.decode("ascii"), given.port or PORTS[given.scheme])
        except (AddressRefused, HostUnknown) as error:
            raise _said(error) from error


def _is_own(url: httpx2.URL, own: httpx2.URL) -> bool:
    """Return whether a URL is on the server: the same origin, or, if the host is this machine, the same host."""
    if (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port):
        return True
    return url.host == own.host and url.host in ("localhost", "127.0.0.1", "::1")


def _said(error: AddressRefused | HostUnknown) -> httpx2.ConnectError:
    if isinstance(error, HostUnknown):
        return httpx2.ConnectError(f"the server points to {error.host}, which is not known: {error.why}")
    return httpx2.ConnectError(
        f"the server points to {error.host}, which is the private address {error.address}: refused"
    )


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LONGEST_ANSWER:
                raise httpx2.ReadError(f"an answer is longer than {LONGEST_ANSWER >> 20} MiB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
