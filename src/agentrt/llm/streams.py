"""Reading of streamed answers, independent of their format."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TypeVar

import anyio

P = TypeVar("P")

TURN = 0.005
"""Seconds for which a stream may hold the event loop: litellm returns buffered data without yielding to other tasks."""

CLOSING = 1.0
"""Maximum number of seconds to close a connection."""


async def follow(
    stream: AsyncIterable[P], see: Callable[[P], None], patience: float, close: Callable[[], Awaitable[None]]
) -> None:
    """Pass each piece to `see` as it comes, and close the connection at the end, or at once when cancelled.

    Raises `TimeoutError` if nothing comes for `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    turn = loop.time()
    try:
        async with asyncio.timeout(patience) as alarm:
            async for piece in stream:
                now = loop.time()
                alarm.reschedule(now + patience)
                see(piece)
                if now - turn > TURN:
                    await asyncio.sleep(0)
                    turn = loop.time()
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING):
            await close()
