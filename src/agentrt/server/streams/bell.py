"""`Bell`: rung when there is something to send."""

from __future__ import annotations

import asyncio

from ...pacing import Pace

AT_ONCE = 64
"""How many are woken in one round of the loop: each sends a message, which takes some 50 us."""


class Bell:
    """Rung when there is something to send; one task waits for it. Rings that come while it works are one."""

    __slots__ = ("_future", "_pace", "_rung")

    def __init__(self, pace: Pace) -> None:
        self._pace, self._rung = pace, False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """There is something."""
        if not self._rung:
            self._rung = True
            if self._future is not None:
                self._pace.give(self._answer)

    def _answer(self) -> None:
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
