"""`Guard`: decides which addresses requests may go to, and the errors for all others."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

import anyio

from ..errors import ConfigurationError, ToolError

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
"""The default port of each scheme."""


class AddressRefused(ToolError):
    """Raised if the host of a request has an address that is not public."""

    def __init__(self, host: str, address: str) -> None:
        self.host, self.address = host, address
        named = f"{host} is the private address {address}" if host.strip("[]") != address else f"{host} is private"
        super().__init__(
            f"{named}: refused, only public addresses are asked. What runs on this machine can be asked in the terminal"
        )


class HostUnknown(ToolError):
    """Raised if the name of a host cannot be looked up, or a URL names none."""

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(f"{host} is not known: {why}. Correct the address, or see that the network is there")


class Guard:
    """Allows requests to public addresses, and to the hosts in `allowed`, each given as "host" or "host:port".

    Raises `ConfigurationError` if one of them is not a host.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(map(_place, allowed))

    def allows(self, host: str, port: int) -> bool:
        """Return whether requests to a host are allowed whatever its addresses are."""
        name = host.strip("[]").lower()
        return (name, None) in self._allowed or (name, port) in self._allowed

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses that a host has now. A caller that connects to one of them, and does not look the name
        up again, reaches no unchecked address.

        Raises `AddressRefused` if any of them is not public and the host is not allowed, and `HostUnknown`.
        """
        try:
            found = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, ValueError) as error:  # an empty or overlong part of the name, a NUL
            raise HostUnknown(host, str(error)) from error
        addresses = tuple(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))
        private = next((address for address in addresses if not is_public(ip_address(address))), None)
        if private is not None and not self.allows(host, port):
            raise AddressRefused(host, private)
        return addresses

    async def check(self, url: str) -> None:
        """Raise `AddressRefused` or `HostUnknown` if requests to a URL are not allowed now.

        For a client that looks names up itself, such as a browser.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or PORTS[parts.scheme]
        except (ValueError, KeyError) as error:
            raise HostUnknown(url, "it is not a web address") from error
        if not host:
            raise HostUnknown(url, "it names no host")
        await self.addresses(host, port)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is public: not private, local, reserved, or of a cloud's own services.

    An IPv6 address that embeds an IPv4 address never counts as public.
    """
    if isinstance(address, IPv6Address) and (address not in _GLOBAL or address.sixtofour or address.teredo):
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_PUBLIC)


_GLOBAL = ip_network("2000::/3")
"""Routed IPv6 addresses. Addresses that embed an IPv4 address are outside, except those of 6to4 and Teredo."""

_NOT_PUBLIC = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")))
"""Networks that `ipaddress` calls global: cloud metadata (Oracle, Azure), a 6to4 relay, documentation (RFC 9637)."""


def _place(given: str) -> tuple[str, int | None]:
    """Return a host, and its port if there is one. Raises `ConfigurationError`."""
    text = given.strip().lower()
    try:
        if not text.startswith("[") and text.count(":") > 1:
            return str(IPv6Address(text)), None
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.netloc == text and re.fullmatch(r"[\w.:\[\]-]+", text):
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise ConfigurationError(f"{given!r} is not a host: give names such as 'wiki.lan' or 'localhost:8080'")
