"""A time that tests move by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Time:
    """A clock that stands until it is moved, and what is to be done later."""

    def __init__(self) -> None:
        self.now = 0.0
        self.agenda: list[tuple[float, Callable[[], None]]] = []
        self.set = 0

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, then: Callable[[], None]) -> Callable[[], None]:
        assert seconds > 0
        assert not self.agenda, "one timer is enough"
        entry = (self.now + seconds, then)
        self.agenda.append(entry)
        self.set += 1

        def cancel() -> None:
            with suppress(ValueError):
                self.agenda.remove(entry)

        return cancel

    async def pass_by(self, seconds: float) -> None:
        """Move on, doing what falls due on the way."""
        end = self.now + seconds
        while self.agenda and self.agenda[0][0] <= end:
            self.now, then = self.agenda.pop(0)
            then()
            await settle()
        self.now = end


async def settle() -> None:
    """Let all go on that can."""
    for _ in range(6):
        await asyncio.sleep(0)
