"""Whose a cancellation is: what others wrote may raise `CancelledError` though nobody cancelled it."""

from __future__ import annotations

import asyncio

STRAY = "it was cancelled, and nobody had asked for that"
"""What is said of one that nobody asked for."""


def being_cancelled() -> bool:
    """Whether this task is being cancelled; else a `CancelledError` is a failure of what was called, like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
