"""`Cell`: a running cell, and its requests to the agent and to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec

from ...errors import ToolError
from ...events import AgentErrorEvent, ObservationEvent
from ...executing import Made, ToolContext
from ...specs.content import plain
from .channel import Answer, Asking
from .outputs import Outputs
from .parsing import parsed


class Cell:
    """A running cell: its output, its requests and its time limit.

    Time in which it waits for a call of a tool, or for a person, does not count.
    """

    def __init__(self, context: ToolContext, seconds: float) -> None:
        self._context, self.seconds = context, seconds
        self.outputs, self.limit = Outputs(), anyio.CancelScope(deadline=anyio.current_time() + seconds)
        self.calls = self._waits = 0
        self._left = seconds
        self.word = ""

    def heard(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take a message of the kernel."""
        if said := self.outputs.take(kind, content):
            self._context.output(said)

    async def asked(self, prompt: str, password: bool) -> str | None:
        """Return what a person types, or None if nobody answers. Nobody is asked for a password."""
        if password:
            self.word = "[a password was asked for: nobody types one here]"
            return None
        field = {"type": "string", "title": prompt or "Input"}
        schema = {"type": "object", "properties": {"value": field}, "required": ["value"]}
        with self._not_counted():
            given = await self._context.ask(prompt or "The code asks for a line of input.", schema, "", "ipython")
        if given is None or given.verdict != "accept":
            self.word = "[input() was not answered: nobody is there, or the person does not want to]"
            return None
        return str(msgspec.json.decode(given.content)["value"])

    async def given(self, asked: Asking) -> Answer:
        """Carry out a request of the code. Raises `ToolError`."""
        if asked.what == "parse":
            return Answer(await parsed(asked.name, asked.arguments, self._context))
        if asked.what != "call":
            raise ToolError(f"unknown request {asked.what!r}")
        self.calls += 1
        with self._not_counted():
            made = await self._context.calls.call(asked.name, asked.arguments)
        details = made.result.details_json if isinstance(made.result, ObservationEvent) else msgspec.Raw(b"null")
        return Answer(said(made), details, failed=failed(made))

    @contextmanager
    def _not_counted(self) -> Iterator[None]:
        if not self._waits:
            self._left = self.limit.deadline - anyio.current_time()
            self.limit.deadline = float("inf")
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self.limit.deadline = anyio.current_time() + self._left


def said(made: Made) -> str:
    """Return the result of a call as text."""
    match made.result:
        case ObservationEvent(content=content):
            return plain(content)
        case AgentErrorEvent(error=error):
            return error
        case rejected:
            return f"not done: {rejected.rejection_reason}"


def failed(made: Made) -> bool:
    """Return whether a call failed or was not carried out."""
    return not isinstance(made.result, ObservationEvent) or made.result.is_error
