"""How late the event loop is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

EVERY = 0.1
"""Seconds between two looks."""


async def measure(tell: Callable[[float], None], every: float = EVERY) -> None:
    """Tell, again and again, how much later than it should be this is woken; for a task of its own."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + every
        await asyncio.sleep(every)
        tell(max(clock() - due, 0.0))
