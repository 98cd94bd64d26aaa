"""Checks of the host that a request is for, and of the page that it comes from. Pure.

A malicious page can make a user's browser send requests to a server that only the user's machine can reach. If the
page's name resolves to that machine (DNS rebinding), the `Host` header has the page's name. If the request is
cross-site, the `Origin` header and the fetch metadata (W3C, `Sec-Fetch-Site`) say so. A page cannot change these.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address

import msgspec
from starlette.requests import HTTPConnection

from ...errors import ConfigurationError

_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/?#]+)")
_PORTS = {"http": 80, "https": 443}

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""


class Place(msgspec.Struct, frozen=True):
    """A host, in lower case, and its port; None if no port was given."""

    host: str
    port: int | None = None


def place_of(header: str) -> Place | None:
    """Return the place that a `Host` header names; None if the header is invalid."""
    if (found := _HOST.fullmatch(header)) is None:
        return None
    host = (found["six"] or found["name"]).lower()
    return Place(host.removesuffix(".") or host, int(found["port"]) if found["port"] else None)


def is_ours(host: str, listening: Collection[str], allowed: Collection[str]) -> bool:
    """Return whether a host name means a server that listens on these addresses; loopback always does."""
    if host == "localhost" or host in listening:
        return True
    for name in map(str.lower, allowed):
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def may_come_from(connection: HTTPConnection, cors: Collection[str]) -> bool:
    """Return whether a request may come from its page. Clients other than browsers name no page, and may."""
    headers = connection.headers
    origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    if len(origins) > 1 or len(sites) > 1:
        return False
    if origins and origins[0] in cors:
        return True
    foreign = bool(sites) and sites[0] not in ("same-origin", "none")
    if connection.scope["type"] == "http" and connection.scope["method"] in SAFE:
        return not foreign or headers.get("sec-fetch-mode") == "navigate" or connection.scope["method"] == "OPTIONS"
    return not foreign and (not origins or _same_host(origins[0], headers.get("host", "")))


def _same_host(origin: str, host: str) -> bool:
    """Return whether an origin is of a host, whatever the scheme, because TLS may end at a proxy."""
    found, own = _ORIGIN.fullmatch(origin), place_of(host)
    if found is None or own is None or (theirs := place_of(found[2])) is None:
        return False
    usual = _PORTS[found[1]]
    return (theirs.host, theirs.port or usual) == (own.host, own.port or usual)


def checked_origins(origins: Collection[str]) -> list[str]:
    """Return the origins to allow. Raises `ConfigurationError` for "*", or an invalid origin."""
    for origin in origins:
        found = _ORIGIN.fullmatch(origin)
        if found is None or place_of(found[2]) is None:
            raise ConfigurationError(
                f"{origin!r} is not an origin that can be allowed: name each, as 'https://agents.example.org'"
            )
    return list(origins)
