"""`Pace`: limits the number of calls in each round of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial


class Pace:
    """Makes calls in the order in which they were given, at most `at_once` in each round of the event loop.

    Otherwise a thousand calls that come at once would hold up everything for as long as they all take. Few calls rarely
    wait: a new count begins only when a call must wait for another round, which happens after `at_once` calls that were
    made directly. To begin a new count in each round would cost a round of the loop for each call.
    """

    __slots__ = ("_at_once", "_made", "_soon", "_waiting")

    def __init__(self, at_once: int) -> None:
        self._at_once, self._made = at_once, 0
        """Number of calls made since the count began."""
        self._soon = False
        """Whether the next round makes calls."""
        self._waiting: deque[Callable[[], None]] = deque()

    def give(self, call: Callable[[], None]) -> None:
        """Make a call, in this round or a later one; the call must not raise."""
        if self._made < self._at_once and not self._waiting:
            self._made += 1
            call()
            return
        self._waiting.append(call)
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._next_round)

    async def turn(self) -> None:
        """Return in this round or a later one."""
        if self._made < self._at_once and not self._waiting:
            self.give(_nothing)
            return
        came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.give(partial(_wake, came))
        await came

    def hurry(self) -> None:
        """Make all waiting calls now."""
        while self._waiting:
            self._waiting.popleft()()

    def _next_round(self) -> None:
        number = self._made = min(self._at_once, len(self._waiting))
        self._soon = len(self._waiting) > number
        if self._soon:
            asyncio.get_running_loop().call_soon(self._next_round)
        for _ in range(number):
            if self._waiting:
                self._waiting.popleft()()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _nothing() -> None:
    return None
