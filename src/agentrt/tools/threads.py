"""Threads for a program's blocking functions: separate ones, so that files and logs never wait for these functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

THREADS = 64
"""Maximum number of blocking functions that run at once, per event loop."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("agentrt_tool_threads")


async def in_a_thread(function: Callable[[], Any]) -> Any:
    """Run a function that may block in a thread, and return its result; an awaitable result is awaited.

    A cancelled call does not wait for the function, because a thread cannot be ended.
    """
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(THREADS)
        _limiter.set(limiter)
    result = await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=limiter)
    return await result if inspect.isawaitable(result) else result
