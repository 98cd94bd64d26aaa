"""`Network`: connections within one event loop, with a delay drawn from a seed, that can be cut."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

Loop = asyncio.AbstractEventLoop
Latency = Callable[[], float]
PIECE = 64 * 1024
"""Bytes that are on their way at most, in one direction: who sends more waits for who reads."""


class Network:
    """The connections of a loop. `latency` gives the seconds that the next bytes are on their way."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._accept: Callable[[], asyncio.BaseProtocol] | None = None
        self._wires: list[_Wire] = []
        self.latency: Callable[[], float] = lambda: 0.0

    def serve(self, accept: Callable[[], asyncio.BaseProtocol]) -> _Server:
        """Let a protocol have each connection that is made from now on."""
        self._accept = accept
        return _Server(self)

    def stop(self) -> None:
        """Let nobody connect any more."""
        self._accept = None

    async def connect(self) -> socket.socket:
        """Return a client's end. Raises `ConnectionRefusedError` if nobody serves."""
        if self._accept is None:
            raise ConnectionRefusedError
        (client, first), (second, server) = socket.socketpair(), socket.socketpair()
        for end in (client, first, second, server):
            end.setblocking(False)
        there, back = _Wire(self._loop, first, second, self.latency), _Wire(self._loop, second, first, self.latency)
        there.other, back.other = back, there
        self._wires = [wire for wire in self._wires if not wire.ended] + [there, back]
        await self._loop.connect_accepted_socket(self._accept, server)
        return client

    def close(self) -> None:
        """End all connections."""
        for wire in self._wires:
            wire.end()
        self._wires.clear()

    def cut(self, chance: Random) -> None:
        """End one connection in the middle of whatever it carries."""
        if wires := [wire for wire in self._wires if not wire.ended]:
            chance.choice(wires).end()


class _Server:
    """What `asyncio.start_server` gives, for as much as servers use of it."""

    sockets = ()

    def __init__(self, network: Network) -> None:
        self._network = network

    def close(self) -> None:
        """Serve nobody any more."""
        self._network.stop()

    async def wait_closed(self) -> None:
        """Return: it is."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(name)


class _Wire:
    """One direction of a connection: bytes arrive in order, each piece after its delay."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: socket.socket,
        target: socket.socket,
        latency: Callable[[], float],
    ) -> None:
        self._loop, self._source, self._target, self._latency = loop, source, target, latency
        self._under_way: deque[bytes] = deque()
        self._last = 0.0
        self.ended = False
        self.other: _Wire | None = None
        """The other direction."""
        loop.add_reader(source, self._take)

    def _take(self) -> None:
        try:
            data = self._source.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._loop.remove_reader(self._source)  # the next piece is taken when this one has arrived
        self._under_way.append(data)
        self._last = max(self._last, self._loop.time() + self._latency())
        self._loop.call_at(self._last, self._arrive)

    def _arrive(self) -> None:
        if self.ended:
            return
        data = self._under_way.popleft()
        if not data:
            self._finish()
            return
        try:
            sent = self._target.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.end()
            return
        if sent < len(data):
            self._under_way.appendleft(data[sent:])
            self._loop.add_writer(self._target, self._go_on)
        else:
            self._loop.add_reader(self._source, self._take)

    def _go_on(self) -> None:
        self._loop.remove_writer(self._target)
        self._arrive()

    def _finish(self) -> None:
        """The source has said all: so has the target."""
        with suppress(OSError):
            self._target.shutdown(socket.SHUT_WR)
        self.ended = True

    def end(self) -> None:
        """Close both ends; what was on its way is lost, in both directions."""
        self.ended = True
        if self.other is not None:
            self.other.ended = True
        for end in (self._source, self._target):
            if end.fileno() >= 0:
                self._loop.remove_reader(end)
                self._loop.remove_writer(end)
                end.close()
