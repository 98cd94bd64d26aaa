"""`Guard`: which addresses may be asked, and the errors of those that may not."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

import anyio

from ..errors import ConfigurationError, ToolError

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
"""The port of a scheme, where a URL names none."""


class AddressRefused(ToolError):
    """Raised when a host that is to be asked has an address that is not public."""

    def __init__(self, host: str, address: str) -> None:
        self.host, self.address = host, address
        named = f"{host} is the private address {address}" if host.strip("[]") != address else f"{host} is private"
        super().__init__(
            f"{named}: refused, only public addresses are asked. What runs on this machine can be asked in the terminal"
        )


class HostUnknown(ToolError):
    """Raised when the name of a host cannot be looked up."""

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(f"{host} is not known: {why}. Correct the address, or see that the network is there")


class Guard:
    """Lets public addresses be asked, and besides them the hosts that were allowed by their names, "host" or
    "host:port".

    Raises `ConfigurationError` for what names no host.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(map(_place, allowed))

    def allows(self, host: str, port: int) -> bool:
        """Whether a host may be asked whatever its addresses are."""
        name = host.strip("[]").lower()
        return (name, None) in self._allowed or (name, port) in self._allowed

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses that a host stands for now. Who connects to one of them, and does not look the name up again,
        asks nothing else.

        Raises `AddressRefused` where any of them is not public and the host is not allowed, and `HostUnknown`.
        """
        try:
            found = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, ValueError) as error:  # a name with a part that is empty or too long, a NUL
            raise HostUnknown(host, str(error)) from error
        addresses = tuple(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))
        private = next((address for address in addresses if not is_public(ip_address(address))), None)
        if private is not None and not self.allows(host, port):
            raise AddressRefused(host, private)
        return addresses

    async def check(self, url: str) -> None:
        """Raises `AddressRefused` or `HostUnknown` for a URL that may not be asked now.

        For a client that cannot be told an address to connect to, such as a browser.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or PORTS[parts.scheme]
        except (ValueError, KeyError) as error:
            raise HostUnknown(url, "it is no web address") from error
        if not host:
            raise HostUnknown(url, "it names no host")
        await self.addresses(host, port)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is of the public network: not private, local, reserved, or of a cloud's own services.

    An address of IPv6 that holds one of IPv4 is not public, whatever it holds.
    """
    if isinstance(address, IPv6Address) and (address not in _GLOBAL or address.sixtofour or address.teredo):
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_PUBLIC)


_GLOBAL = ip_network("2000::/3")
"""Addresses of IPv6 that are routed: those that hold one of IPv4 are elsewhere, but for 6to4 and Teredo."""

_NOT_PUBLIC = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")))
"""What the library calls global: metadata of clouds (Oracle, Azure), a relay of 6to4, documentation (RFC 9637)."""


def _place(given: str) -> tuple[str, int | None]:
    """A host, and its port where one is named."""
    text = given.strip().lower()
    try:
        if not text.startswith("[") and text.count(":") > 1:
            return str(IPv6Address(text)), None
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.netloc == text and re.fullmatch(r"[\w.:\[\]-]+", text):
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise ConfigurationError(f"{given!r} is no host: give names such as 'wiki.lan' or 'localhost:8080'")
