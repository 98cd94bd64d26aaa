"""`Turns`: wakes those who have something to send, some in each round of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 64
"""How many are woken in one round: each sends a message, which takes some 50 us."""


class Turns:
    """Wakes those who have something to send, in the order in which it came, some in each round of the event loop.

    An event that a thousand follow would else hold up everything for as long as a thousand sends take.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once, self._woken = at_once, 0
        self._waiting: deque[Bell] = deque()

    def give(self, bell: Bell) -> None:
        """Wake who waits for this bell, in this round or a later one."""
        if self._woken < self._at_once:
            if self._woken == 0:
                asyncio.get_running_loop().call_soon(self._next_round)
            self._woken += 1
            bell.answer()
        else:
            self._waiting.append(bell)

    def _next_round(self) -> None:
        self._woken = min(self._at_once, len(self._waiting))
        if self._woken:
            asyncio.get_running_loop().call_soon(self._next_round)
        for _ in range(self._woken):
            self._waiting.popleft().answer()


class Bell:
    """Rung when there is something to send; one task waits for it. Rings that come while it works are one."""

    __slots__ = ("_future", "_rung", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns, self._rung = turns, False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """There is something."""
        if not self._rung:
            self._rung = True
            if self._future is not None:
                self._turns.give(self)

    def answer(self) -> None:
        """It is its turn."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Return once it was rung since this returned last."""
        if not self._rung:
            self._future = asyncio.get_running_loop().create_future()
            try:
                await self._future
            finally:
                self._future = None
        self._rung = False
