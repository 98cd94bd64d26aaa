"""Ending a process of one's own at a moment of one's choice, and knowing how it ended."""

from __future__ import annotations

import contextlib
import os
import signal

import anyio
import anyio.abc


async def killed_after(process: anyio.abc.Process, seconds: float | None) -> int:
    """Its return code: what it says itself, if it ends within so many `seconds`, else that of KILL.

    `process.kill()` would look first whether it has ended; when it ends in that moment, its code goes to that look,
    and asyncio, which waits for it in a thread, says 255.
    """
    with anyio.move_on_after(seconds):
        return await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    return await process.wait()
