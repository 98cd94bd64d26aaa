"""`EventCaller`: calls a program's function with each event of a conversation, beside the program."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from ..deltas import Delta
from ..errors import ConfigurationError
from ..events import Event
from .end import End

EventCallback: TypeAlias = Callable[[Event], Awaitable[None] | None]
"""A function, or a coroutine function, that is called with each event once it is durable."""


class EventCaller:
    """A task that follows a conversation, and calls a function with its events, one after another.

    An error of the function cancels the body of the conversation's `async with`, which then raises it.
    """

    def __init__(self, call: EventCallback, *, new: bool) -> None:
        """`new`: whether the conversation begins now, so that all of its events are new."""
        if not callable(call):
            raise ConfigurationError(f"Conversation(on_event=...): expected a function, got {type(call).__name__}")
        self._call, self._new = call, new
        self._tasks: TaskGroup | None = None
        self._error: Exception | None = None

    async def open(self) -> None:
        """Enter the group of the task. The conversation is entered after it, and left before it."""
        self._tasks = await anyio.create_task_group().__aenter__()

    def follow(self, end: End) -> None:
        """Begin to follow a conversation that was entered."""
        assert self._tasks is not None
        self._tasks.start_soon(self._follow, end, 0 if self._new else end.state.seq)

    async def end(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Call the function with what has come, after the conversation was left. Raise its error."""
        if self._tasks is None:
            return
        tasks, self._tasks = self._tasks, None
        try:
            await tasks.__aexit__(kind, error, trace)
        except BaseException:
            if self._error is not None:
                raise self._error from None
            if error is None:
                raise

    async def _follow(self, end: End, after: int) -> None:
        async for item in end.stream(after, deltas=False):
            if isinstance(item, Delta):
                continue
            try:
                result: Any = self._call(item)
                if inspect.isawaitable(result):
                    await result
            except Exception as failure:
                self._error = failure
                raise
