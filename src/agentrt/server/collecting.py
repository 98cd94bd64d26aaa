"""How a process that is a server's alone collects garbage."""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 100)
"""Of Python's three generations: a full collection looks at every object of every conversation, which holds up the
loop for 100 ms and more, and finds little, since events and states make no cycles."""


def settle() -> None:
    """Leave what was loaded so far out of all collections to come, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
