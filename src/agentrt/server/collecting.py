"""Garbage collection in a process that only runs a server."""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 100)
"""Thresholds of Python's three generations. A full collection visits every object of every conversation. It blocks the
loop for 100 ms and more, and finds little, because events and states make no cycles."""


def settle() -> None:
    """Exclude all objects loaded so far from later collections, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
