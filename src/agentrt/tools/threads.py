"""Threads for functions of a program that block: a few of their own, so that files and logs never wait for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

THREADS = 64
"""Functions that block at once, in a process."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("agentrt_tool_threads")


async def in_a_thread(function: Callable[[], Any]) -> Any:
    """What a function returns that may block. When this is cancelled it is not waited for: no thread can be ended."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(THREADS)
        _limiter.set(limiter)
    result = await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=limiter)
    return await result if inspect.isawaitable(result) else result
