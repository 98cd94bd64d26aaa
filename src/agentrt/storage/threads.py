"""Work in a thread that stands under a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
R = TypeVar("R")


async def to_the_end(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a function returns that runs in a thread; when this is cancelled, it is waited for first.

    A shield does not do: it keeps no `Task.cancel` away, and the lock that the work stands under would go before it.
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
