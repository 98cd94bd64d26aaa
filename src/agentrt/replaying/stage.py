"""`Stage`: the turns of a replay, so that everything happens in its recorded order."""

from __future__ import annotations

import sys
from typing import Never

import anyio

from .calls import Call
from .comparing import Difference
from .recording import Delegation, Execution, Recording

_NEVER = sys.maxsize
"""The seq of an event that the recording does not have."""


class Stage:
    """The progress of a replay: performers wait here for their turn, and take their parts in the recorded order."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.matched = 0
        """The seq up to which the replay matches the recording."""
        self.difference: Difference | None = None
        self._gates: dict[int, anyio.Event] = {}
        self._at_work: set[int] = set()
        """The waiting performers, by the seq of the event that began them."""
        self._news = anyio.Event()
        self._open = False
        self._scope = anyio.CancelScope()
        self.begin()

    def begin(self) -> anyio.CancelScope:
        """Begin a new process. The returned scope is cancelled when a performer finds a difference."""
        self._calls = sum(call.begun <= self.matched for call in self._recording.calls)
        self._runs = {
            tool: sum(run.begun <= self.matched for run in runs) for tool, runs in self._recording.executions.items()
        }
        self._open, self._scope, self._before = False, anyio.CancelScope(), self.matched
        return self._scope

    def end(self) -> None:
        """End the process: no performer waits any more."""
        self._open = True
        for gate in self._gates.values():
            gate.set()
        self._gates.clear()

    def advance(self, seq: int) -> None:
        """Record that event `seq` matched."""
        self.matched = seq
        for reached in [number for number in self._gates if number <= seq]:
            self._gates.pop(reached).set()

    def differ(self, difference: Difference) -> None:
        """Stop the replay; differences that a performer finds after its process has ended do not count."""
        if not self._open:
            self.difference = self.difference or difference
            self._scope.cancel()

    def at_work(self, begun: int) -> None:
        """Record that the performer that event `begun` began is running."""
        self._at_work.add(begun)
        self._news.set()

    async def all_at_work(self) -> None:
        """Return once all performers of the recording are running: a performer that has not begun cannot be
        interrupted.
        """
        recording = self._recording
        parts: list[Call | Execution | Delegation] = [*recording.calls, *recording.judgements]
        parts.extend(recording.delegations.values())
        parts.extend(run for runs in recording.executions.values() for run in runs)
        begun = [part for part in parts if self._before < part.begun <= self.matched]
        wanted = {part.begun for part in begun if part.ended is None or part.ended > self.matched}
        while not wanted <= self._at_work:
            self._news = anyio.Event()
            await self._news.wait()

    async def reached(self, seq: int) -> None:
        """Return once event `seq` has happened."""
        if not self._open and self.matched < seq:
            await self._gates.setdefault(seq, anyio.Event()).wait()

    async def turn(self, seq: int | None) -> None:
        """Return once the event before `seq` has happened; never if the recording has no such event."""
        if seq is None:
            await self.never()
        else:
            await self.reached(seq - 1)

    async def never(self) -> Never:
        """Wait to be cancelled: the recording has no more outcomes."""
        await anyio.sleep_forever()
        raise AssertionError("nothing ends this but a cancellation")

    async def cut(self, seq: int | None) -> Never:
        """Wait to be cancelled, and then wait for the turn to report it."""
        try:
            await self.never()
        finally:
            await self.turn_of_the_cut(seq)

    async def turn_of_the_cut(self, seq: int | None) -> None:
        """Like `turn`, but shielded from cancellation; it returns at the latest when the process ends."""
        with anyio.CancelScope(shield=True):
            await self.reached(seq - 1 if seq is not None else _NEVER)

    def next_call(self) -> Call | None:
        """Return the next recorded model call."""
        self._calls += 1
        calls = self._recording.calls
        return calls[self._calls - 1] if self._calls <= len(calls) else None

    def next_judgement(self) -> Call | None:
        """Return the next recorded call of a judge."""
        return next((call for call in self._recording.judgements if call.last > self.matched), None)

    def next_execution(self, tool: str) -> Execution | None:
        """Return the next recorded run of a tool."""
        number = self._runs.get(tool, 0)
        self._runs[tool] = number + 1
        runs = self._recording.executions.get(tool, [])
        return runs[number] if number < len(runs) else None
