"""`Wire`: a socket's connection, written to without waiting. ASGI has none; the HTTP server may provide one."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Scope
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

WIRE = "agentrt.wire"
"""The entry of the extensions in a socket's scope that has its `Wire`."""

_framer = Connection(ConnectionType.SERVER)
"""One for all sockets: a server's frames are not masked and, without compression, the same for every client."""


class Wire(Protocol):
    """A socket's connection; while it is `free`, bytes can be written to it without waiting."""

    @property
    def free(self) -> bool:
        """Whether the socket is open at both ends, and the kernel has taken everything written so far."""
        ...

    def write(self, message: bytes) -> None:
        """Write a message made by `framed`."""
        ...


def wire_of(scope: Scope) -> Wire | None:
    """Return the wire of a socket; None if it has only ASGI, where a task sends each message and waits for it."""
    wire: Wire | None = scope.get("extensions", {}).get(WIRE)
    return wire


def framed(text: str) -> bytes:
    """Return a message as it is on the wire (RFC 6455, section 5)."""
    return bytes(_framer.send(TextMessage(data=text)))
