"""`Wire`: a socket's connection, to which bytes are written within a call. ASGI has none; who serves may give one."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Scope
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

WIRE = "agentrt.wire"
"""Where the extensions of a socket's scope have its `Wire`."""

_framer = Connection(ConnectionType.SERVER)
"""What a server sends is not masked and, without compression, the same for every client."""


class Wire(Protocol):
    """A socket's connection: bytes can be written to it within a call, while there is nothing on it to wait for."""

    @property
    def free(self) -> bool:
        """Whether neither end has closed it, and the kernel has taken all that was written before."""
        ...

    def write(self, message: bytes) -> None:
        """Write a message, as `framed` makes it."""
        ...


def wire_of(scope: Scope) -> Wire | None:
    """The wire of a socket; None where only ASGI carries it, so that a task sends each message and waits for it."""
    wire: Wire | None = scope.get("extensions", {}).get(WIRE)
    return wire


def framed(text: str) -> bytes:
    """A message as it is on the wire (RFC 6455, section 5)."""
    return bytes(_framer.send(TextMessage(data=text)))
