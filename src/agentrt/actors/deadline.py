"""`Deadline`: ends a run that takes too long."""

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
    """Calls `expired` once a run has run for `Limits.max_seconds`; time in which a person is asked does not count."""

    def __init__(
        self, expired: Callable[[float], None], *, clock: Clock = time.monotonic, later: Later = call_later
    ) -> None:
        self._expired, self._clock, self._later = expired, clock, later
        self._cancel: Callable[[], None] | None = None
        """Takes back what is to be done at `_ends`; None while no time runs."""
        self._ends, self._limit = 0.0, 0.0
        self._left: float | None = None
        """What remained when a person was asked."""

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
        if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
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
