"""`Bell`: rung when there is something to send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...pacing import Pace

AT_ONCE = 64
"""Maximum number of bells answered in a round of the event loop: each sends a message, which takes 10 to 50 us."""


def not_at_once() -> bool:
    """Leave the work to the waiting task."""
    return False


class Bell:
    """A bell that is rung when there is something to send. One task waits for it; rings while it works count as one.

    A ring while the task waits calls `at_once` first. If it returns True, it has done the work, and the task is not
    woken. Its exceptions are raised in the task.
    """

    __slots__ = ("_at_once", "_future", "_pace", "_rung")

    def __init__(self, pace: Pace, at_once: Callable[[], bool] = not_at_once) -> None:
        self._pace, self._at_once, self._rung = pace, at_once, False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Ring: there is something to send."""
        if not self._rung:
            self._rung = True
            if self._future is not None:
                self._pace.give(self._answer)

    def _answer(self) -> None:
        if self._future is None or self._future.done():
            return
        try:
            done = self._at_once()
        except Exception as error:  # raised in the waiting task, not in the caller that rang
            self._future.set_exception(error)
            return
        if done:
            self._rung = False
        else:
            self._future.set_result(None)

    async def wait(self) -> None:
        """Return once the bell was rung since the last return."""
        if not self._rung:
            self._future = asyncio.get_running_loop().create_future()
            try:
                await self._future
            finally:
                self._future = None
        self._rung = False
