"""Work in a thread that is protected by a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
R = TypeVar("R")


async def to_the_end(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return the result of a function that runs in a thread; a cancellation waits for the function to end.

    A shield is not enough: it does not stop `Task.cancel`, so the lock that protects the work could be released too
    early.
    """
    work = asyncio.get_running_loop().run_in_executor(None, partial(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            while not work.done():
                try:
                    await asyncio.wait([work])
                except asyncio.CancelledError:
                    continue
        work.exception()  # looked at: nobody else will
        raise
