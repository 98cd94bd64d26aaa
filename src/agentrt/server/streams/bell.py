"""`Bell`: rung when there is something to send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...pacing import Pace

AT_ONCE = 64
"""How many are answered in one round of the loop: each sends a message, which takes some 10 to 50 us."""


def not_at_once() -> bool:
    """Leave it to the task that waits."""
    return False


class Bell:
    """Rung when there is something to send; one task waits for it. Rings that come while it works are one.

    `at_once` is asked first, while the task waits: what it has done, as it says by returning True, wakes nobody. What
    it raises is raised in the task.
    """

    __slots__ = ("_at_once", "_future", "_pace", "_rung")

    def __init__(self, pace: Pace, at_once: Callable[[], bool] = not_at_once) -> None:
        self._pace, self._at_once, self._rung = pace, at_once, False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """There is something."""
        if not self._rung:
            self._rung = True
            if self._future is not None:
                self._pace.give(self._answer)

    def _answer(self) -> None:
        if self._future is None or self._future.done():
            return
        try:
            done = self._at_once()
        except Exception as error:  # which is for the task that waits, and for nobody who rang
            self._future.set_exception(error)
            return
        if done:
            self._rung = False
        else:
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
