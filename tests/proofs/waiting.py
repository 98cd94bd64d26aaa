"""Waiting for a condition, with an end to it."""

from __future__ import annotations

from collections.abc import Callable

import anyio


async def eventually(holds: Callable[[], object], what: str, seconds: float = 5.0) -> None:
    """Return once `holds()` is true. Fails with `what` when it is not within `seconds`."""
    with anyio.move_on_after(seconds):
        while not holds():
            await anyio.sleep(0.002)
        return
    raise AssertionError(f"not within {seconds:g} s: {what}")
