"""Measures how late the event loop is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

EVERY = 0.1
"""Seconds between two measurements."""


async def measure(tell: Callable[[float], None], every: float = EVERY) -> None:
    """Call `tell`, again and again, with the seconds by which this was woken too late; for a task of its own."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + every
        await asyncio.sleep(every)
        tell(max(clock() - due, 0.0))
