"""`Deadline`: ends a run that takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..events import ExecutionStatus
from ..state import State


class Deadline:
    """Calls `expired` once a run has run for `Limits.max_seconds`; time in which a person is asked does not count."""

    def __init__(self, expired: Callable[[float], None]) -> None:
        self._expired = expired
        self._timer: asyncio.TimerHandle | None = None
        self._left: float | None = None
        """What remained when a person was asked."""

    def watch(self, state: State) -> None:
        """Look at a state after each change; cheap where there is no limit."""
        seconds = state.spec.limits.max_seconds if state.agent is not None else None
        if seconds is None and self._timer is None:
            return
        if state.status is ExecutionStatus.RUNNING and seconds is not None:
            if self._timer is None:
                left = seconds if self._left is None else self._left
                self._timer = asyncio.get_running_loop().call_later(left, self._fire, seconds)
            return
        waits = state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        if self._timer is not None:
            self._left = self._timer.when() - asyncio.get_running_loop().time()
            self._timer.cancel()
            self._timer = None
        if not waits:
            self._left = None

    def close(self) -> None:
        """Fire no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self, seconds: float) -> None:
        self._timer = None
        self._expired(seconds)
