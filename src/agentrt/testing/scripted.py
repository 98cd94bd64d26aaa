"""`ScriptedLLM`: a model client with scripted replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import anyio
import msgspec

from ..context.budget import cost
from ..context.messages import ToolCall
from ..context.replies import ModelReply
from ..errors import ModelError
from ..ids import new_id
from ..protocols import ModelRequest, Watch
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.content import plain
from ..specs.llm import known_of, members
from ..usage import Usage

Turn: TypeAlias = ModelReply | ModelError
Script: TypeAlias = Callable[[ModelRequest], Turn]


class ScriptExhausted(ModelError):
    """Raised when a script has no turn left."""

    code = "script_exhausted"


def say(text: str) -> ModelReply:
    """Return a turn that answers with text."""
    return ModelReply(text=text)


def call(tool: str, thought: str = "", /, **arguments: Any) -> ModelReply:
    """Return a turn that calls one tool."""
    return calls((tool, arguments), thought=thought)


def calls(*wanted: tuple[str, dict[str, Any]], thought: str = "") -> ModelReply:
    """Return a turn that calls several tools at once."""
    made = tuple(ToolCall(f"call_{new_id()}", name, msgspec.json.encode(given).decode()) for name, given in wanted)
    return ModelReply(text=thought, tool_calls=made)


def finish(message: str) -> ModelReply:
    """Return a turn that ends the task."""
    return call("finish", message=message)


class ScriptedLLM:
    """A `ModelClient` that returns one turn for each call: in order from a list, or from a function of the request.

    It reads every message, waits `delay` seconds, and shows its text word by word. `requests` keeps the requests if
    `keep` is set.
    """

    def __init__(self, turns: Iterable[Turn] | Script, *, delay: float = 0.0, keep: bool = True) -> None:
        self._script: Script = turns if callable(turns) else _in_order(list(turns))
        self._delay, self._keep = delay, keep
        self.requests: list[ModelRequest] = []
        self.characters_read = 0
        self._last: tuple[LLM, Capabilities] | None = None

    async def prepare(self, llm: AnyLLM) -> None:
        """Do nothing: there is nothing to load."""

    def known(self, llm: LLM) -> Capabilities:
        """Return what its spec says."""
        if self._last is None or self._last[0] is not llm:
            self._last = llm, known_of(llm)
        return self._last[1]

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the next turn. Raises it if it is an error, and `ScriptExhausted` if there is none."""
        read = _length(request)
        llm = members(request.llm)[0]
        known = self.known(llm)
        await watch.begin(request, known)
        if self._keep:
            self.requests.append(request)
        self.characters_read += read
        turn = self._script(request)
        if self._delay:
            await anyio.sleep(self._delay)
        if isinstance(turn, ModelError):
            raise turn
        for word in turn.text.split(" ") if turn.text else ():
            watch.show("text", f"{word} ")
        usage = Usage(prompt_tokens=read // 4 + 1, completion_tokens=len(turn.text) // 4 + 1)
        usage = usage if turn.usage == Usage() else turn.usage
        price = cost(usage, known) if turn.cost is None else turn.cost
        return msgspec.structs.replace(turn, usage=usage, cost=price, model=llm.model, usage_id=llm.usage_id)


def _length(request: ModelRequest) -> int:
    """Return the number of characters of all text in the request; each message is read at each call."""
    messages = request.messages
    try:
        parts = [c[0].text if len(c) == 1 else plain(c) for message in messages if (c := message.content)]  # type: ignore[union-attr]
    except AttributeError:  # not all is text
        parts = [plain(message.content) for message in messages]
    return len("".join(parts))


def _in_order(turns: Sequence[Turn]) -> Script:
    rest = iter(turns)

    def script(request: ModelRequest) -> Turn:
        try:
            return next(rest)
        except StopIteration:
            raise ScriptExhausted(f"the script has no turn left after {len(turns)}") from None

    return script
