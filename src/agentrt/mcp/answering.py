"""`Answers`: handles the requests and notifications of a server, on behalf of the calls that are running."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import msgspec

from ..context.messages import Message
from ..specs import Content
from ..specs.content import plain, sound, text
from ..specs.schemas import defaults_of
from .results import blocks_of

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams

MOST_LINES = 200
"""Lines of a server's log that are kept."""

LONGEST_LINE = 2000
"""Maximum characters of one line."""

REFUSED = -1
"""The error code of a request that the user declines (as in the specification's example)."""

Progress = Callable[[float, float | None, str | None], None]


class Caller(msgspec.Struct, frozen=True):
    """The caller of a tool: callbacks for its progress (`told`), log lines (`logged`) and the server's requests.

    `server` is the caller's name for the server, `timeout` the seconds that it waits. Callers that share a connection
    may have configured these differently. By default those of the connection hold.

    `asked` takes a message, the schema of a form and an address; it returns a verdict and the values of the form.
    `sampled` takes the question to the person and the messages for the conversation's model; it returns the model's
    text and name. Both return None if the person declines, and are None if there is nobody to ask.
    """

    server: str = ""
    timeout: float | None = None
    told: Progress = lambda done, of, words: None
    logged: Callable[[str], None] = lambda line: None
    asked: Callable[[str, dict[str, Any] | None, str], Awaitable[tuple[str, dict[str, Any]] | None]] | None = None
    sampled: Callable[[str, Sequence[Message]], Awaitable[tuple[str, str] | None]] | None = None


class Call:
    """A running call: its caller, and its time limit in seconds."""

    def __init__(self, caller: Caller, timeout: float) -> None:
        self.caller, self.timeout, self.limit = caller, timeout, anyio.CancelScope()

    def count(self) -> None:
        """Start the time limit, or start it again."""
        self.limit.deadline = anyio.current_time() + self.timeout


_running: ContextVar[Call | None] = ContextVar("mcp_call", default=None)
"""The call that this task makes."""


class Answers:
    """Answers a server's requests for the call that is running. If several calls run and the request does not come in
    the task of one of them, it is unknown which one is meant, so nobody is asked.
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self.workspaces: list[str] = []
        """The workspaces of the conversations that use the server: its roots."""
        self.lines = deque[str](maxlen=MOST_LINES)
        """The last lines of the server's log."""
        self.stale = anyio.Event()
        """Set when the server says that its tools have changed."""
        self._ended = anyio.current_time()

    @property
    def rested(self) -> float:
        """Seconds since the last call ended; 0 while one runs."""
        return 0.0 if self._calls else anyio.current_time() - self._ended

    def begin(self, call: Call) -> None:
        """Note that a call begins, in the current task."""
        self._calls.append(call)
        _running.set(call)

    def end(self, call: Call) -> None:
        """Note that a call has ended."""
        self._calls.remove(call)
        self._ended = anyio.current_time()

    async def heard(self, message: Any) -> None:
        """Handle a notification of the server."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.stale.set()
        await anyio.lowlevel.checkpoint()

    async def logged(self, message: Any) -> None:
        """Keep a line of the server's log, and show it to the caller if it is known which call is meant."""
        said = message.data if isinstance(message.data, str) else msgspec.json.encode(message.data).decode()
        line = sound(f"{message.level}: {said}")[:LONGEST_LINE]
        self.lines.append(line)
        if (call := self._meant) is not None:
            call.caller.logged(line)
        await anyio.lowlevel.checkpoint()

    async def elicited(self, context: Any, params: Any) -> Any:
        """Return a person's answer to the server. Meanwhile the time limit of the call is suspended."""
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
        """Return the answer of the calling conversation's model, if a person allows that."""
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
        """Return the workspaces of the conversations that use the server."""
        from mcp_types import ListRootsResult, Root

        await anyio.lowlevel.checkpoint()
        places = (Path(place) for place in dict.fromkeys(self.workspaces))
        return ListRootsResult(roots=[Root(uri=place.as_uri(), name=place.name) for place in places])  # type: ignore[arg-type]

    @property
    def _meant(self) -> Call | None:
        """The call that the server's request belongs to: the one of this task, as in the newest revision of the
        protocol, else the only one that runs.
        """
        if (here := _running.get()) is not None and here in self._calls:
            return here
        return self._calls[0] if len(self._calls) == 1 else None

    @contextmanager
    def _not_counted(self, call: Call) -> Iterator[None]:
        """Suspend the time limit of a call. It starts again afterwards."""
        call.limit.deadline = float("inf")
        try:
            yield
        finally:
            call.count()


def _is_form(form: Any) -> bool:
    properties = form.get("properties", {}) if isinstance(form, dict) else None
    return isinstance(properties, dict) and all(isinstance(field, dict) for field in properties.values())


def messages_of(params: CreateMessageRequestParams) -> list[Message]:
    """Return the messages of a request, in order."""
    made = [Message("system", text(sound(params.system_prompt)))] if params.system_prompt else []
    return [*made, *(Message(_role(given.role), _content(given.content)) for given in params.messages)]


def words_of(params: CreateMessageRequestParams) -> str:
    """Return the question to a person."""
    lines = "\n".join(f"{message.role}: {plain(message.content)}" for message in messages_of(params))
    return f"It wants your model to answer this, which costs you what the model costs:\n{lines}"


def _role(given: str) -> Any:
    return "assistant" if given == "assistant" else "user"


def _content(given: Any) -> tuple[Content, ...]:
    return tuple(block for one in (given if isinstance(given, list) else [given]) for block in blocks_of(one))
