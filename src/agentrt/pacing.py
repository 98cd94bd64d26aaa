"""`Pace`: does some of what there is to do in each round of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial


class Pace:
    """Makes calls in the order in which they were given, so many in each round of the event loop.

    A thousand things that come at once would else hold up everything for as long as they all take. Up to `at_once` in
    a round are done at once, so that who has few of them does not wait.
    """

    __slots__ = ("_at_once", "_made", "_waiting")

    def __init__(self, at_once: int) -> None:
        self._at_once, self._made = at_once, 0
        self._waiting: deque[Callable[[], None]] = deque()

    def give(self, call: Callable[[], None]) -> None:
        """Make a call, in this round or a later one; it raises nothing."""
        if self._made < self._at_once and not self._waiting:
            if self._made == 0:
                asyncio.get_running_loop().call_soon(self._next_round)
            self._made += 1
            call()
        else:
            self._waiting.append(call)

    async def turn(self) -> None:
        """Return in this round or a later one."""
        if self._made < self._at_once and not self._waiting:
            self.give(_nothing)
            return
        came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.give(partial(_wake, came))
        await came

    def hurry(self) -> None:
        """Make all calls that wait, now."""
        while self._waiting:
            self._waiting.popleft()()

    def _next_round(self) -> None:
        self._made = min(self._at_once, len(self._waiting))
        if self._made:
            asyncio.get_running_loop().call_soon(self._next_round)
        for _ in range(self._made):
            if self._waiting:
                self._waiting.popleft()()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _nothing() -> None:
    return None
