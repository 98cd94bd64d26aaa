"""`Answers`: what a server asks and says of its own accord, and the calls on whose behalf it is answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from ..context.messages import Message
from ..specs.content import sound
from ..specs.schemas import defaults_of
from .sampling import messages_of, words_of

MOST_LINES = 200
"""Lines of a server's log that are kept."""

LONGEST_LINE = 2000
"""Characters of one."""

REFUSED = -1
"""The code for what a user does not want (as the specification's example has it)."""

Progress = Callable[[float, float | None, str | None], None]


class Caller(msgspec.Struct, frozen=True):
    """Who makes a call: `told` how far it has come and what is `logged`, and asked what the server asks a person.

    `server` is what the caller calls the server, and `timeout` the seconds that it waits: a connection may be shared by
    some who configured it differently. Without them those of the connection hold.

    `asked` takes a message, the schema of a form and an address, and gives a verdict and what was filled in. `sampled`
    takes what a person is asked, and the messages that the conversation's model answers; it gives its words and its
    name. Both give None where a person does not want that, and are None where there is nobody to ask.
    """

    server: str = ""
    timeout: float | None = None
    told: Progress = lambda done, of, words: None
    logged: Callable[[str], None] = lambda line: None
    asked: Callable[[str, dict[str, Any] | None, str], Awaitable[tuple[str, dict[str, Any]] | None]] | None = None
    sampled: Callable[[str, Sequence[Message]], Awaitable[tuple[str, str] | None]] | None = None


class Call:
    """A call that runs: who makes it, and the seconds that it may take."""

    def __init__(self, caller: Caller, timeout: float) -> None:
        self.caller, self.timeout, self.limit = caller, timeout, anyio.CancelScope()

    def count(self) -> None:
        """Its time begins to run."""
        self.limit.deadline = anyio.current_time() + self.timeout


_running: ContextVar[Call | None] = ContextVar("mcp_call", default=None)
"""The call that this task makes."""


class Answers:
    """A server that asks is answered by the call that runs. Where those of several conversations run it cannot be told
    which one is meant, so nobody is asked.
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self.workspaces: list[str] = []
        """Those of the conversations that use the server, as its roots."""
        self.lines = deque[str](maxlen=MOST_LINES)
        """The last lines of the server's log."""
        self.stale = anyio.Event()
        """Set when the server says that its tools have changed."""
        self._ended = anyio.current_time()

    @property
    def rested(self) -> float:
        """Seconds since the last call has ended; 0 while one runs."""
        return 0.0 if self._calls else anyio.current_time() - self._ended

    def begin(self, call: Call) -> None:
        """A call runs from now on, in the task that says so."""
        self._calls.append(call)
        _running.set(call)

    def end(self, call: Call) -> None:
        """It does not any more."""
        self._calls.remove(call)
        self._ended = anyio.current_time()

    async def heard(self, message: Any) -> None:
        """What the server says of its own accord."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.stale.set()
        await anyio.lowlevel.checkpoint()

    async def logged(self, message: Any) -> None:
        """A line of the server's log; who calls it alone sees it, too."""
        said = message.data if isinstance(message.data, str) else msgspec.json.encode(message.data).decode()
        line = sound(f"{message.level}: {said}")[:LONGEST_LINE]
        self.lines.append(line)
        if (call := self._meant) is not None:
            call.caller.logged(line)
        await anyio.lowlevel.checkpoint()

    async def elicited(self, context: Any, params: Any) -> Any:
        """What a person answers to the server. The time that this takes does not count for the call."""
        from mcp_types import INVALID_PARAMS, ElicitResult, ErrorData

        await anyio.lowlevel.checkpoint()
        url = str(getattr(params, "url", "") or "")
        form = None if url else params.requested_schema
        answer = None
        if (call := self._meant) is None:
            return ElicitResult(action="cancel")
        if form is not None and not _is_form(form):
            return ErrorData(code=INVALID_PARAMS, message="the schema is none of a form: its members are objects")
        if call.caller.asked is not None:
            with self._not_counted(call):
                answer = await call.caller.asked(sound(params.message), form, url)
        if answer is None:
            return ElicitResult(action="decline")
        verdict, content = answer
        filled = {**defaults_of(form), **content} if verdict == "accept" and form is not None else None
        return ElicitResult(action=verdict, content=filled)  # type: ignore[arg-type]

    async def sampled(self, context: Any, params: Any) -> Any:
        """What the model of the conversation says whose call runs, where a person wants that."""
        from mcp_types import CreateMessageResult, ErrorData, TextContent

        await anyio.lowlevel.checkpoint()
        said = None
        if (call := self._meant) is not None and call.caller.sampled is not None:
            with self._not_counted(call):
                said = await call.caller.sampled(words_of(params), messages_of(params))
        if said is None:
            return ErrorData(code=REFUSED, message="the user does not want the model to be asked")
        words, model = said
        return CreateMessageResult(
            role="assistant", content=TextContent(text=words), model=model, stop_reason="endTurn"
        )

    async def roots(self, context: Any) -> Any:
        """The workspaces of those who use it."""
        from mcp_types import ListRootsResult, Root

        await anyio.lowlevel.checkpoint()
        places = (Path(place) for place in dict.fromkeys(self.workspaces))
        return ListRootsResult(roots=[Root(uri=place.as_uri(), name=place.name) for place in places])  # type: ignore[arg-type]

    @property
    def _meant(self) -> Call | None:
        """The call on whose behalf the server asks: that of this task, as the newest revision has it, or the only one
        that runs.
        """
        if (here := _running.get()) is not None and here in self._calls:
            return here
        return self._calls[0] if len(self._calls) == 1 else None

    @contextmanager
    def _not_counted(self, call: Call) -> Iterator[None]:
        """Time that does not count for a call."""
        call.limit.deadline = float("inf")
        try:
            yield
        finally:
            call.count()


def _is_form(form: Any) -> bool:
    properties = form.get("properties", {}) if isinstance(form, dict) else None
    return isinstance(properties, dict) and all(isinstance(field, dict) for field in properties.values())
