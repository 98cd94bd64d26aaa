"""`Guarded`: HTTP to a server, and to no private address that it points to. Heavy, so imported when it is needed.

A document of discovery names the addresses of the authorization server, and a server that nobody knows may name those
of this network in it, or names that stand for them.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

LONGEST_ANSWER = 64 << 20
"""Bytes of one answer, but for a stream of events, which has this bound for each."""


class Guarded(httpx2.AsyncBaseTransport):
    """Requests to where the server is are sent as they are. Another host is looked up first, and asked at the address
    that was found, so that its name cannot mean another one meanwhile.
    """

    def __init__(self, url: str) -> None:
        given = httpx2.URL(url)
        self._own = given
        proxy = getproxies().get(given.scheme) if not proxy_bypass(given.host) else None
        self._inner = httpx2.AsyncHTTPTransport(verify=_certificates(), proxy=proxy)
        self.ended = anyio.Event()
        """Set when the server says that there is no such session."""
        self.refusal = ""
        """What the last answer says that was an error of HTTP, and what to do."""
        self.has_session = False
        """Whether the server has given a session id: it keeps something of those who use it."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises `ConnectError` for a private address of another host, and `ReadError` for an endless answer."""
        if not _is_own(request.url, self._own):
            request = await _pinned(request)
        response = await self._inner.handle_async_request(request)
        if request.method == "POST":
            self.refusal = _refusal(response.status_code)
        self.has_session = self.has_session or "mcp-session-id" in response.headers
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            self.ended.set()  # the server has forgotten the session: another one is begun
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _refusal(status: int) -> str:
    """An error of HTTP in words, with what to do (RFC 9110, 15.5); "" for none."""
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
    """Raises `ConnectError` for an address that is neither public nor of the host of `own`, and for no web address."""
    given = httpx2.URL(url)
    if given.scheme not in ("http", "https"):
        raise httpx2.ConnectError(f"the server points to {url!r}, which is no web address")
    if not _is_own(given, httpx2.URL(own)):
        await _address(given)


def _is_own(url: httpx2.URL, own: httpx2.URL) -> bool:
    """Whether an address is where the server is: its origin, or its host where that is this machine by name."""
    if (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port):
        return True
    return url.host == own.host and url.host in ("localhost", "127.0.0.1", "::1")


async def _pinned(request: httpx2.Request) -> httpx2.Request:
    """The request, for the address that its host stands for now."""
    url = request.url.copy_with(host=await _address(request.url))
    extensions = {**request.extensions, "sni_hostname": request.url.host}
    return httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)


async def _address(url: httpx2.URL) -> str:
    """An address of a host, all of whose addresses are public."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await anyio.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx2.ConnectError(f"the server points to {url.host}, which is not known: {error}") from error
    addresses = [str(one[4][0]).partition("%")[0] for one in found]
    if private := next((address for address in addresses if not _is_public(ip_address(address))), None):
        raise httpx2.ConnectError(f"the server points to {url.host}, which is the private address {private}: refused")
    return addresses[0]


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (address not in _GLOBAL or address.sixtofour or address.teredo):
        return False
    return address.is_global and not address.is_multicast


_GLOBAL = ip_network("2000::/3")
"""Addresses of IPv6 that are routed: those that hold one of IPv4 are elsewhere, but for 6to4 and Teredo."""


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


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, read once: that takes 20 ms."""
    return httpx2.create_ssl_context()
