"""`Deadline` ends a run that takes too long, and `Overdue` a call whose result does not come."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ..events import ExecutionStatus
from ..protocols import Clock, Later, call_later
from ..state import State

_SOON = 0.001
"""Seconds until what is over already."""


class Deadline:
    """Calls `expired` once a run has run for `Limits.max_seconds`; while it waits for somebody no time passes."""

    def __init__(
        self, expired: Callable[[float], None], *, clock: Clock = time.monotonic, later: Later = call_later
    ) -> None:
        self._expired, self._clock, self._later = expired, clock, later
        self._cancel: Callable[[], None] | None = None
        """Takes back what is to be done at `_ends`; None while no time runs."""
        self._ends, self._limit = 0.0, 0.0
        self._left: float | None = None
        """What remained when it began to wait."""

    def watch(self, state: State) -> None:
        """Look at a state after each change; cheap where there is no limit."""
        seconds = state.spec.limits.max_seconds if state.agent is not None else None
        if seconds is None and self._cancel is None:
            return
        if state.status is ExecutionStatus.RUNNING and seconds is not None:
            if self._cancel is None:
                self._begin(seconds if self._left is None else self._left + seconds - self._limit, seconds)
            elif seconds != self._limit:  # it was changed meanwhile
                left = self._ends - self._clock() + seconds - self._limit
                self.close()
                self._begin(left, seconds)
            return
        if self._cancel is not None:
            self._left = self._ends - self._clock()
            self.close()
        if not state.status.waits:
            self._left = None

    def _begin(self, left: float, limit: float) -> None:
        self._ends, self._limit = self._clock() + left, limit
        self._cancel = self._later(max(left, _SOON), partial(self._fire, limit))

    def close(self) -> None:
        """Fire no more."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None

    def _fire(self, seconds: float) -> None:
        self._cancel = None
        self._expired(seconds)


class Overdue:
    """Calls `overdue` with the time, in seconds since 1970, once an action has had no result for too long."""

    def __init__(
        self, overdue: Callable[[float], None], *, clock: Clock = time.time, later: Later = call_later
    ) -> None:
        self._overdue, self._clock, self._later = overdue, clock, later
        self._cancel: Callable[[], None] | None = None
        self._at = 0.0

    def watch(self, state: State) -> None:
        """Look at a state after each change; cheap where nothing is waited for."""
        at = min((p.expires for p in state.branch.pending if p.expires), default=0.0)
        if at == self._at:
            return
        self.close()
        self._at = at
        if at:
            self._cancel = self._later(max(at - self._clock(), _SOON), self._fire)

    def close(self) -> None:
        """Call no more."""
        self._at = 0.0
        if self._cancel is not None:
            self._cancel()
            self._cancel = None

    def _fire(self) -> None:
        self._cancel, at, self._at = None, self._at, 0.0
        self._overdue(max(self._clock(), at))
