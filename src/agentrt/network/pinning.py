"""`send`: sends a request to an address of its host that was checked. Heavy, so imported when it is needed."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2

from .addresses import PORTS, Guard
from .proxies import proxy_of


def transport(url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
    """Return a transport for a URL, through the proxy that the environment names for it, if any."""
    proxy = proxy_of(url.scheme, url.host, url.port or PORTS.get(url.scheme))
    return httpx2.AsyncHTTPTransport(verify=certificates(), proxy=proxy)


async def send(inner: httpx2.AsyncBaseTransport, request: httpx2.Request, guard: Guard) -> httpx2.Response:
    """Send a request to the first address of its host that accepts a connection.

    The name is looked up only once, so it cannot change its address between the check and the connection. Certificates
    are verified against the name. Raises `AddressRefused`, `HostUnknown`, and the errors of the transport.
    """
    url = request.url
    if url.scheme not in PORTS:
        raise httpx2.UnsupportedProtocol(f"{url.scheme}: is not a scheme of the web", request=request)
    addresses = await guard.addresses(url.raw_host.decode("ascii"), url.port or PORTS[url.scheme])
    for address in addresses[:-1]:
        try:
            return await inner.handle_async_request(_pinned(request, address))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await inner.handle_async_request(_pinned(request, addresses[-1]))


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    url = request.url.copy_with(host=address)
    extensions = {**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii").strip("[]")}
    return httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)


@cache
def certificates() -> ssl.SSLContext:
    """Return the trusted certificates, read only once because that takes 20 ms."""
    return httpx2.create_ssl_context()
