"""Chat completions, of OpenAI and of all providers with the same interface.

Sources: the API reference of OpenAI, "Create chat completion" and "Streaming"; observed differences of vLLM, Mistral,
DeepSeek and others.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...context.messages import Message, ToolCall
from ...context.replies import ModelReply
from ...errors import ModelUnavailable
from ...ids import new_id
from ...protocols import Watch
from ...specs import Capabilities
from ...usage import Usage
from ..counts import Tokens, counted
from ..wire import wants_reasoning, wire_message, wire_messages, wire_tool
from .format import Asked, Sent, WireError, cut, error_in, read, reply_of

DONE = b"[DONE]"


class ChatCompletions:
    """The `Format` of chat completions."""

    def sent(self, asked: Asked) -> Sent:
        """Return a `POST /chat/completions`."""
        request, llm = asked.request, asked.request.one
        body: dict[str, Any] = {
            "model": asked.name,
            "messages": _messages(asked),
            "stream": llm.stream or None,
            "stream_options": {"include_usage": True} if llm.stream and asked.provider.counts_streams else None,
            "tools": [wire_tool(definition) for definition in request.tools] or None,
            **_settings(asked),
            **llm.extra_body,
        }
        return Sent("/chat/completions", _encoded(body))

    def reader(self, asked: Asked, watch: Watch) -> ChatReader:
        """Return a reader for a `chat.completion`, or for its chunks."""
        return ChatReader(asked, watch)


def _messages(asked: Asked) -> Any:
    """Return the messages as JSON. With marks, which move from request to request, all are encoded anew."""
    request, llm = asked.request, asked.request.one
    if asked.known.cache_marks and llm.caching_prompt:
        return [*map(_known, wire_messages(request.messages, llm, marks=True))]
    back = wants_reasoning(llm.model)

    def encode(message: Message) -> bytes:
        return _encoded(wire_message(message, llm.model, reasoning=back))

    return msgspec.Raw(b"[" + b",".join(asked.encoded(request.messages, encode)) + b"]")


def _settings(asked: Asked) -> dict[str, Any]:
    llm, reasons = asked.request.one, asked.official and _reasons(asked.name, asked.known)
    return {
        "temperature": None if reasons else llm.temperature,
        "top_p": None if reasons else llm.top_p,
        "top_k": llm.top_k,
        "seed": llm.seed,
        "max_completion_tokens" if reasons else "max_tokens": asked.most,
        "reasoning_effort": llm.reasoning_effort,
        "prompt_cache_key": asked.cache_key,
    }


def _reasons(name: str, known: Capabilities) -> bool:
    """Return whether this is a model of OpenAI that thinks before it answers: those take other settings."""
    return known.reasoning and name.startswith(("o1", "o3", "o4", "gpt-5"))


def _known(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _encoded(body: dict[str, Any]) -> bytes:
    return msgspec.json.encode(_known(body))


class _Function(msgspec.Struct):
    name: Any = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: Any = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None


_NOTHING = msgspec.Raw(b"null")


class _Choice(msgspec.Struct):
    index: int | None = None
    error: msgspec.Raw = _NOTHING
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Prompt(msgspec.Struct):
    cached_tokens: Tokens | None = None
    cache_write_tokens: Tokens | None = None


class _Completion(msgspec.Struct):
    reasoning_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _Prompt | None = None
    completion_tokens_details: _Completion | None = None
    cache_creation_input_tokens: Tokens | None = None
    prompt_cache_hit_tokens: Tokens | None = None


class _Chunk(msgspec.Struct):
    id: Any = None
    choices: list[_Choice] | None = None
    usage: Any = None
    error: msgspec.Raw = _NOTHING

    def failure(self) -> WireError | None:
        """Return the error in the chunk, if any. OpenRouter sends it beside a choice, or in one."""
        for one in (self, *(self.choices or ())):
            if (error := bytes(one.error)) != b"null":
                return error_in(b'{"error":%s}' % error)
        return None


_decoder = msgspec.json.Decoder(_Chunk, strict=False)


class _Growing:
    """A call that arrives in pieces."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, id: str, name: str) -> None:
        self.id, self.name, self.arguments = id, name, list[str]()

    def finished(self) -> bool:
        """Return whether the arguments are complete. As this is called with each piece, they are decoded only if they
        may be complete.
        """
        end = next((piece for one in reversed(self.arguments) if (piece := one.rstrip())), "")
        if not end.endswith("}"):
            return False
        try:
            return isinstance(msgspec.json.decode("".join(self.arguments)), dict)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return False


def _begins(growing: _Growing, index: int | None, own: str, name: str, more: str) -> bool:
    """Return whether a piece at the place of a call is the first of another: it has a name, and not this call's id.

    Some providers repeat the name in each piece, with a new id each time or with none. Then the piece continues the
    call if that is not finished.
    """
    if not name or (own and own == growing.id):
        return False
    if name == growing.name and (not (own or more) or (growing.arguments and not growing.finished())):
        return False
    return index is None or bool(own and growing.id) or growing.finished()


class ChatReader:
    """The `Reader` of chat completions. It accepts what providers really send: calls without an id or an index, several
    calls under one index, arguments that are not text, usage that comes twice or not at all, no `[DONE]`.
    """

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._asked, self._llm, self._show = asked, asked.request.one, watch.show
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Growing] = []
        self._at: dict[int, _Growing] = {}
        self._id = self._reason = self._refusal = ""
        self._usage: _Usage | None = None
        self._choice: int | None = None
        self._streamed = False

    @property
    def ended(self) -> bool:
        return bool(self._reason)

    def take(self, data: bytes) -> bool:
        if data == DONE:
            return True
        chunk = read(_decoder, data)
        if (failure := chunk.failure()) is not None:
            raise failure
        self._read(chunk)
        return False

    def whole(self, data: bytes) -> None:
        chunk = read(_decoder, data)
        if (failure := chunk.failure()) is not None:
            raise failure
        if not chunk.choices:
            raise error_in(data)
        self._read(chunk)
        self._reason = self._reason or "stop"

    def _read(self, chunk: _Chunk) -> None:
        self._usage = counted(chunk.usage, _Usage) or self._usage
        if chunk.id is not None and not self._id:
            self._id = str(chunk.id)
        for choice in chunk.choices or ():
            if self._choice is None:
                self._choice = choice.index
            if choice.index != self._choice and choice.index is not None:
                continue  # another one of several requested answers
            if choice.delta is not None:
                self._streamed = True
                self._said(choice.delta)
            elif choice.message is not None and not self._streamed:  # else it repeats what was streamed
                self._said(choice.message)
            if choice.finish_reason:
                self._reason = choice.finish_reason

    def _said(self, message: _Message) -> None:
        if type(thought := message.reasoning_content or message.reasoning) is str and thought:
            self._think(thought)
        content = message.content
        if content and type(content) is str:
            self._speak(content)
        elif content:
            self._parts(content)
        if message.refusal:
            self._refusal += str(message.refusal)
        for call in message.tool_calls or ():
            self._call(call)

    def _speak(self, piece: str) -> None:
        self._text.append(piece)
        if self._llm.stream:
            self._show("text", piece)

    def _think(self, piece: str) -> None:
        self._reasoning.append(piece)
        if self._llm.stream:
            self._show("reasoning", piece)

    def _parts(self, parts: Any) -> None:
        """Content in parts, as Mistral sends it."""
        for part in parts if isinstance(parts, list) else ():
            match part:
                case {"type": "text", "text": str(piece)} if piece:
                    self._speak(piece)
                case {"type": "thinking", "thinking": list(thoughts)}:
                    for thought in thoughts:
                        self._think(str(thought.get("text", "")) if isinstance(thought, dict) else str(thought))
                case _:
                    pass

    def _call(self, call: _Call) -> None:
        made = call.function or _Function()
        own, name = "" if call.id is None else str(call.id), "" if made.name is None else str(made.name)
        given = "" if made.arguments is None else made.arguments
        more = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        growing = self._meant(call.index, own)
        if growing is None or _begins(growing, call.index, own, name, more):
            growing = _Growing(own, name)
            self._calls.append(growing)
            if call.index is not None:
                self._at[call.index] = growing
        growing.id = growing.id or own
        growing.name = growing.name or name
        if more:
            growing.arguments.append(more)

    def _meant(self, index: int | None, own: str) -> _Growing | None:
        """Return the call that a piece may continue, if any."""
        if index is not None:
            return self._at.get(index)
        last = self._calls[-1] if self._calls else None
        return next((one for one in reversed(self._calls) if own and one.id == own), last)

    def reply(self) -> ModelReply:
        if not self._reason:
            raise cut()
        if self._reason == "error":
            raise ModelUnavailable(f"the provider of {self._llm.model!r} failed while it answered")
        reason = _REASONS.get(self._reason, self._reason)
        none = "" if reason == "length" else "{}"  # a call that was cut before its arguments is not one without any
        calls = tuple(ToolCall(call.id or new_id(), call.name, "".join(call.arguments) or none) for call in self._calls)
        return reply_of(
            self._asked,
            text="".join(self._text),
            calls=calls,
            reasoning="".join(self._reasoning),
            reason=reason,
            id=self._id,
            usage=self._used(),
            refusal=self._refusal,
        )

    def _used(self) -> Usage | None:
        """The usage, or None if the provider does not report it."""
        used = self._usage
        if used is None or not (used.prompt_tokens or used.completion_tokens):
            return None
        prompt, completion = used.prompt_tokens_details, used.completion_tokens_details
        read = (prompt.cached_tokens if prompt is not None else None) or used.prompt_cache_hit_tokens
        write = used.cache_creation_input_tokens or (prompt.cache_write_tokens if prompt is not None else None)
        return Usage(
            prompt_tokens=used.prompt_tokens or 0,
            completion_tokens=used.completion_tokens or 0,
            cache_read_tokens=read or 0,
            cache_write_tokens=write or 0,
            reasoning_tokens=(completion.reasoning_tokens if completion is not None else None) or 0,
        )


_REASONS = {
    "function_call": "tool_calls",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "refusal": "content_filter",
}
"""OpenAI's words for the reasons for which an answer ended, by those of others."""
