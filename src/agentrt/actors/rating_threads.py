"""Runs rules in threads: ratings that would hold up the event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar

from ..events import ActionEvent
from ..security.budget import NotAtOnce
from ..security.rating import Scene

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

THREADS = 2
"""Number of ratings in threads at a time, of all conversations: more would only take turns, and the loop waits too."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("agentrt_rating_threads")


class Rule(Protocol[T_co]):
    """A pure function of `agentrt.security.rules`. With `at_once`, it raises `NotAtOnce` if it may take long."""

    def __call__(self, action: ActionEvent, scene: Scene, *, at_once: bool = False) -> T_co:
        """Return what the rule finds."""
        ...


async def apply_rule(rule: Rule[T], action: ActionEvent, scene: Scene) -> T:
    """Return what a rule finds: at once for a short action, as most are, in a thread for any other."""
    try:
        return rule(action, scene, at_once=True)
    except NotAtOnce:
        return await in_thread(partial(rule, action, scene))


async def in_thread(rule: Callable[[], T]) -> T:
    """Return what a pure rule returns. A cancelled caller does not wait: the rule's own bounds end its thread."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(THREADS)
        _limiter.set(limiter)
    return await anyio.to_thread.run_sync(rule, abandon_on_cancel=True, limiter=limiter)
