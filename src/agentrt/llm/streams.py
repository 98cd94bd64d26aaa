"""How a streamed answer is read, whatever it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TypeVar

import anyio

P = TypeVar("P")

TURN = 0.005
"""Seconds that a stream may keep the event loop: litellm gives what has come already without letting others run."""

CLOSING = 1.0
"""Seconds that closing a connection may take."""


async def follow(
    stream: AsyncIterable[P], see: Callable[[P], None], patience: float, close: Callable[[], Awaitable[None]]
) -> None:
    """Show each piece as it comes to `see`, and close the connection in the end, or at once when this is cancelled.

    Raises `TimeoutError` when nothing comes for `patience` seconds.
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
