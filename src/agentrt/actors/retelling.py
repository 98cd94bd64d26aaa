"""What an agent is told anew when it goes on with a model of another family: its prompt and its instruction files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..context.prompt import family
from ..events import Event
from ..specs import AnyLLM, BlobReference
from ..state import State
from .event_log import Log

Keep: TypeAlias = Callable[[bytes, str, str], Awaitable[BlobReference]]
"""Stores bytes with a name and a media type beside the log, with secrets masked."""

Retold: TypeAlias = Callable[[State, AnyLLM, Keep], Awaitable[tuple[Event, ...]]]
"""Reads what a model is told in a conversation, and returns the events that record it."""


async def nothing_told(state: State, llm: AnyLLM, keep: Keep) -> tuple[Event, ...]:
    """Return no event: the conversation keeps what it was told."""
    return ()


async def told_anew(log: Log, llm: AnyLLM, retold: Retold) -> tuple[Event, ...]:
    """Return the events for a conversation that goes on with a model; none if the model is of the same family."""
    if log.state.prompt is None or family(llm) == family(log.state.spec.llm):
        return ()
    return await retold(log.state, llm, log.keep)
