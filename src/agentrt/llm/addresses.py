"""`Address`: a URL in the form that libcurl takes, with the proxy that the environment names for it."""

from __future__ import annotations

import string
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from ..network.addresses import PORTS
from ..network.proxies import proxy_of

_SCHEMES = ("http", "https")

_PROXIES = frozenset({"http", "https", "socks4", "socks4a", "socks5", "socks5h"})


class Address(msgspec.Struct, frozen=True):
    """The address of a request."""

    url: str
    server: str
    """Its scheme, host and port."""
    proxy: str
    """Empty if there is none."""
    has_user: bool


def address_of(url: str) -> Address:
    """Return the address of a URL. Raises `ValueError`, which contains no password, if it or its proxy is invalid."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme not in _SCHEMES or not host:
            raise ValueError
        user, at, place = parts.netloc.rpartition("@")
        if not host.isascii():
            place = place.lower().replace(host, host.encode("idna").decode("ascii"))
            parts = parts._replace(netloc=f"{user}{at}{place}")
    except ValueError:
        raise ValueError(
            "the address is not valid: it is http:// or https://, a host, and perhaps a port and a path"
        ) from None
    proxy = _proxy(proxy_of(parts.scheme, host, port or PORTS[parts.scheme]) or "")
    whole = quote(urlunsplit(parts), safe=string.punctuation)
    return Address(whole, f"{parts.scheme}://{place}", proxy, bool(at))


def _proxy(url: str) -> str:
    whole = url if "://" in url or not url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        valid = parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0 and parts.netloc.count("@") < 2
    except ValueError:
        valid = False
    if whole and not valid:
        raise ValueError("the proxy that the environment names for it is not valid: see HTTPS_PROXY")
    return quote(whole, safe=string.punctuation)
