"""`Deadline`: ends a run at its time limit; `Overdue`: ends a call whose result does not come in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ..events import ExecutionStatus
from ..protocols import Clock, Later, call_later
from ..state import State

_SOON = 0.001
"""Seconds until a timer fires whose time has already passed."""


class Deadline:
    """Calls `expired` once a run took `Limits.max_seconds`. The time that it waits for somebody does not count."""

    def __init__(
        self, expired: Callable[[float], None], *, clock: Clock = time.monotonic, later: Later = call_later
    ) -> None:
        self._expired, self._clock, self._later = expired, clock, later
        self._cancel: Callable[[], None] | None = None
        """Cancels the timer that fires at `_ends`; None if no timer runs."""
        self._ends, self._limit = 0.0, 0.0
        self._left: float | None = None
        """The seconds that remained when the run began to wait."""

    def watch(self, state: State) -> None:
        """Adjust the timer to a new state; cheap if there is no limit."""
        seconds = state.spec.limits.max_seconds if state.agent is not None else None
        if seconds is None and self._cancel is None:
            return
        if state.status is ExecutionStatus.RUNNING and seconds is not None:
            if self._cancel is None:
                self._begin(seconds if self._left is None else self._left + seconds - self._limit, seconds)
            elif seconds != self._limit:  # the limit was changed meanwhile
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
    """Calls `overdue` with the time, in seconds since 1970, once the time for an action's result is over."""

    def __init__(
        self, overdue: Callable[[float], None], *, clock: Clock = time.time, later: Later = call_later
    ) -> None:
        self._overdue, self._clock, self._later = overdue, clock, later
        self._cancel: Callable[[], None] | None = None
        self._at = 0.0

    def watch(self, state: State) -> None:
        """Adjust the timer to a new state; cheap if no result is awaited."""
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
