"""Waiting for a condition, with an end to it: for what says nothing when it happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable

import anyio

LONGEST = 0.05
"""Seconds between two looks, once it has lasted."""


async def eventually(holds: Callable[[], object | Awaitable[object]], what: str, seconds: float = 20.0) -> None:
    """Return once `holds()` is true, or what it awaits. Fails with `what` when it is not within `seconds`."""
    wait = 0.002
    with anyio.move_on_after(seconds):
        while not await _value(holds()):
            await anyio.sleep(wait)
            wait = min(1.2 * wait, LONGEST)
        return
    raise AssertionError(f"not within {seconds:g} s: {what}")


async def _value(found: object) -> object:
    return await found if isawaitable(found) else found
