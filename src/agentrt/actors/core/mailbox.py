"""`Mailbox`: the bounded queue of requests before an actor."""

from __future__ import annotations

import asyncio
from typing import Any

from ...errors import ActorStopped
from .messages import Envelope, Request


class Mailbox:
    """Holds up to `size` envelopes; a sender waits while it is full.

    An asyncio queue and not an anyio stream: receiving from it costs a fifth, and an agent's step does it four times.
    """

    def __init__(self, name: str, size: int, *, cancellable: bool = True) -> None:
        self.name = name
        self._cancellable = cancellable
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Envelope] = asyncio.Queue(size)
        self._closed = False

    def post(self, request: Request[Any]) -> Envelope:
        """Send at once. Raises `asyncio.QueueFull`, or `ActorStopped` once the mailbox is closed."""
        envelope = self._envelope(request)
        self._queue.put_nowait(envelope)
        return envelope

    async def send(self, request: Request[Any]) -> Envelope:
        """Send, after waiting for a place. Raises `ActorStopped` once the mailbox is closed."""
        envelope = self._envelope(request)
        await self._queue.put(envelope)
        if self._closed:
            self.close()
        return envelope

    async def receive(self) -> Envelope:
        """The next envelope."""
        return await self._queue.get()

    def close(self) -> None:
        """Take nothing more, and tell those who wait that nobody will answer."""
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait().fail()

    def _envelope(self, request: Request[Any]) -> Envelope:
        if self._closed:
            raise ActorStopped(self.name)
        return Envelope(self.name, request, self._loop.create_future(), cancellable=self._cancellable)
