"""`Inbox`: a client's messages that were read but not yet worked on."""

from __future__ import annotations

from collections import deque

import anyio

MOST = 8
"""Number of messages after which reading stops for a while."""

STALL = 1.0
"""Seconds after which one more message is read all the same."""


class Inbox:
    """A client's messages that were read but not yet worked on.

    A `put` into a full inbox waits until a message is taken, but not for ever: only further reading shows that the
    client has disconnected, and without that, work that waits for the client to read would never end.
    """

    def __init__(self, most: int = MOST, stall: float = STALL) -> None:
        self._most, self._stall = most, stall
        self._messages: deque[str | bytes] = deque()
        self._come, self._taken, self._idle = anyio.Event(), anyio.Event(), anyio.Event()

    async def put(self, message: str | bytes) -> None:
        """Add a message; return when there is room for the next, or after `stall` seconds."""
        self._messages.append(message)
        self._come.set()
        self._idle = anyio.Event()
        if len(self._messages) >= self._most:
            self._taken = anyio.Event()
            with anyio.move_on_after(self._stall):
                await self._taken.wait()

    async def get(self) -> str | bytes:
        """Return the next message; the caller has finished work on the last one."""
        while not self._messages:
            self._idle.set()
            self._come = anyio.Event()
            await self._come.wait()
        self._taken.set()
        return self._messages.popleft()

    async def worked_on(self) -> None:
        """Return when all messages were worked on."""
        await self._idle.wait()
