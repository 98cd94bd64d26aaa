"""`Inbox`: messages of a client that were read, and not yet worked on."""

from __future__ import annotations

from collections import deque

import anyio

MOST = 8
"""Messages after which no more are read for a while."""

STALL = 1.0
"""Seconds after which one more is read all the same."""


class Inbox:
    """Messages of a client that were read, and not yet worked on.

    Who puts one into a full inbox waits until another was taken; but not for ever, since that the client has left is
    learnt by reading on: what waits for him to take something would else wait for that.
    """

    def __init__(self, most: int = MOST, stall: float = STALL) -> None:
        self._most, self._stall = most, stall
        self._messages: deque[str | bytes] = deque()
        self._come, self._taken, self._idle = anyio.Event(), anyio.Event(), anyio.Event()

    async def put(self, message: str | bytes) -> None:
        """Put a message in; returns when there is room for the next."""
        self._messages.append(message)
        self._come.set()
        self._idle = anyio.Event()
        if len(self._messages) >= self._most:
            self._taken = anyio.Event()
            with anyio.move_on_after(self._stall):
                await self._taken.wait()

    async def get(self) -> str | bytes:
        """The next message; who asks has worked on the last one."""
        while not self._messages:
            self._idle.set()
            self._come = anyio.Event()
            await self._come.wait()
        self._taken.set()
        return self._messages.popleft()

    async def worked_on(self) -> None:
        """Return when everything was worked on."""
        await self._idle.wait()
