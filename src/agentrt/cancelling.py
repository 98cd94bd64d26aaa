"""Whose a cancellation is: what others wrote may raise `CancelledError` though nobody cancelled it."""

from __future__ import annotations

import asyncio
from types import TracebackType


class StrayCancellation(Exception):
    """What was called said that it was cancelled; it failed, as with any other error."""

    def __init__(self) -> None:
        super().__init__("it was cancelled, and nobody had asked for that")


class _Guard:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(raised, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                raise StrayCancellation from raised


guarded = _Guard()
"""A context in which a `CancelledError` is raised as `StrayCancellation`, unless this task is being cancelled."""
