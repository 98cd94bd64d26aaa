"""`Run`: a run of a conversation, active or about to begin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any, Never

from ..deltas import Delta
from ..errors import ConfigurationError, NoAnswer
from ..events import Cursor, Event, ExecutionStatus
from ..state import State, seq_of
from .end import End


def at_rest(state: State) -> bool:
    """Return whether nothing runs, and nothing will until a person acts."""
    return state.at_rest


_WHY = {
    ExecutionStatus.PAUSED: "it was paused or interrupted; run() goes on",
    ExecutionStatus.WAITING_FOR_CONFIRMATION: "actions wait for a person: confirm() or reject() them, then run()",
    ExecutionStatus.WAITING_FOR_CLIENT: "calls wait for a client: give_result() of each in `pending_results`",
    ExecutionStatus.STUCK: "the agent repeated itself; say what it is to do differently",
}


def answer_of(state: State) -> str:
    """Return the answer with which a run ended. Raises `NoAnswer`."""
    if state.answer is not None:
        return state.answer
    if state.error is not None:
        raise NoAnswer(state.status, state.error.detail, state.error.code)
    raise NoAnswer(state.status, _WHY.get(state.status, "the agent had nothing to answer"))


class Run:
    """A run that is active or about to begin; see `Conversation.run`."""

    def __init__(self, end: End, after: Cursor | int | None) -> None:
        self._end, self._after = end, after

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for item in self._end.stream(await self._begin(), at_rest, deltas=False):
            if not isinstance(item, Delta):
                yield item

    async def stream(self) -> AsyncIterator[Event | Delta]:
        """Yield the run's events, with deltas in between."""
        async for item in self._end.stream(await self._begin(), at_rest):
            yield item

    async def text(self) -> AsyncIterator[str]:
        """Yield the agent's words as it writes them: its messages, what it says before its calls, and its answer.

        Between two of them comes an empty line. If a model call is retried, its text comes again from the beginning.
        """
        from .words import Words  # needed by few

        words = Words()
        async for item in self.stream():
            for piece in words.take(item):
                yield piece
        for piece in words.end(self._end.state.answer):
            yield piece

    def __iter__(self) -> Never:
        raise ConfigurationError("a run is asynchronous: write 'async for event in conversation.run()', or await it")

    def __repr__(self) -> str:
        try:
            state = self._end.state
        except ConfigurationError:
            return "<Run of a conversation that was not entered>"
        return f"<Run of conversation {self._end.id}, {state.status}: iterate with 'async for', or await it>"

    def __await__(self) -> Generator[Any, None, State]:
        return self._to_the_end().__await__()

    async def _to_the_end(self) -> State:
        await self._begin()
        return await self._end.wait_for(at_rest)

    async def _begin(self) -> int:
        return await self._end.begin(None if self._after is None else seq_of(self._after, self._end.state))
