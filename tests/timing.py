"""The CPU that work takes, in tests of bounds: without the collections of a large process, which are not its own."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection within: one of a process that has run thousands of tests takes half a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Whether work takes less CPU of this thread than that, in one of three runs: a busy machine makes some slower."""
    return any(_seconds(work) < seconds for _ in range(3))


def _seconds(work: Callable[[], object]) -> float:
    with uncollected():
        begun = time.thread_time()
        work()
        return time.thread_time() - begun
