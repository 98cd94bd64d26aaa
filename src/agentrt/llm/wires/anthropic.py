"""Anthropic's Messages.

Source: the API reference of Anthropic, "Messages", "Streaming messages", "Extended thinking" and "Prompt caching".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ...context.messages import Message, ToolCall
from ...context.replies import ModelReply
from ...ids import new_id
from ...protocols import Watch
from ...specs import LLM, ToolDefinition
from ...usage import Usage
from ..counts import Tokens, counted
from ..thinking_room import Thinks, thinking
from ..wire import marked_message, wire_message, wire_messages
from .format import Asked, Sent, arguments_of, cut, error_in, read, reply_of

VERSION = "2023-06-01"

LEAST_KNOWN_ANSWER = 4096
"""The maximum number of tokens of an answer, if none is known: the interface requires a number."""

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


class AnthropicMessages:
    """The `Format` of Messages."""

    def sent(self, asked: Asked) -> Sent:
        """Return a `POST /v1/messages`."""
        request, llm = asked.request, asked.request.one
        marks = asked.known.cache_marks and llm.caching_prompt
        system = [message for message in request.messages if message.role == "system"]
        rest = [message for message in request.messages if message.role != "system"]
        last = next((message for message in reversed(rest) if message.role == "assistant"), None)
        said = [wire_message(last, llm.model)] if last is not None else []
        thinks = thinking(llm, asked.most, asked.entry, said)
        told = wire_messages(system, llm, marks=marks)
        body: dict[str, Any] = {
            "model": asked.name,
            "system": [block for one in told for block in _blocks(one["content"])] or None,
            "messages": _turns(rest, asked, keeps=thinks.keeps, marks=marks),
            "max_tokens": asked.most or asked.known.max_output_tokens or LEAST_KNOWN_ANSWER,
            "stream": llm.stream or None,
            "tools": [_tool(definition) for definition in request.tools] or None,
            **_settings(llm, thinks),
            **llm.extra_body,
        }
        whole = msgspec.json.encode({name: value for name, value in body.items() if value is not None})
        return Sent("/v1/messages", whole, {"anthropic-version": VERSION})

    def reader(self, asked: Asked, watch: Watch) -> AnthropicReader:
        """Return a reader for a `message`, or for its events."""
        return AnthropicReader(asked, watch)


def _settings(llm: LLM, thinks: Thinks) -> dict[str, Any]:
    usual = {"temperature": llm.temperature, "top_p": llm.top_p, "top_k": llm.top_k}
    if thinks.thinking is None:
        return usual
    return {"thinking": thinks.thinking, "output_config": thinks.output}


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    schema = msgspec.json.decode(definition.parameters)
    return {"name": definition.name, "description": definition.description, "input_schema": schema}


def _turns(messages: Sequence[Message], asked: Asked, *, keeps: bool, marks: bool) -> msgspec.Raw:
    """Return the messages grouped by turns, as the interface requires. The results of calls belong to the user."""
    model = asked.request.one.model

    def encode(message: Message) -> bytes:
        return _encoded(wire_message(message, model), keeps=keeps)

    parts = asked.encoded(messages, encode, str(keeps))
    place = next((n for n in reversed(range(len(messages))) if messages[n].role != "assistant"), None)
    if marks and place is not None:
        parts = [*parts[:place], _encoded(marked_message(messages[place], model), keeps=keeps), *parts[place + 1 :]]
    whole, role = list[bytes](), ""
    for message, part in zip(messages, parts, strict=True):
        if not part:
            continue
        speaks = "assistant" if message.role == "assistant" else "user"
        whole += (b",", part) if speaks == role else (b"]}," if role else b"[", _BEGINS[speaks], part)
        role = speaks
    return msgspec.Raw(b"".join((*whole, b"]}]")) if role else b"[]")


_BEGINS = {role: f'{{"role":"{role}","content":['.encode() for role in ("assistant", "user")}
"""The JSON that begins a turn, by role."""


def _encoded(message: dict[str, Any], *, keeps: bool) -> bytes:
    """Return the blocks of a message as JSON, separated by commas and without brackets."""
    if not keeps:
        message.pop("thinking_blocks", None)
    blocks = _said(message) if message["role"] == "assistant" else _heard(message)
    return msgspec.json.encode([*blocks])[1:-1]


def _said(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from message.get("thinking_blocks", ())
    yield from _blocks(message["content"])
    for call in message.get("tool_calls", ()):
        function = call["function"]
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": function["name"],
            "input": arguments_of(function["arguments"]),
        }


def _heard(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    blocks = [*_blocks(message["content"])]
    if message["role"] != "tool":
        yield from blocks
        return
    marked = [mark for block in blocks if (mark := block.pop("cache_control", None))]
    result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": blocks or ""}
    yield {**result, "cache_control": marked[-1]} if marked else result


def _blocks(content: Any) -> Iterator[dict[str, Any]]:
    """Yield content in the form of chat completions as blocks. Blank texts are left out, because they are refused."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content or ():
        if block["type"] == "image_url":
            yield _image(block)
        elif block["text"].strip():
            yield block


def _image(block: dict[str, Any]) -> dict[str, Any]:
    url = block["image_url"]["url"]
    marks = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}, **marks}
    kind = head.removeprefix("data:").partition(";")[0]
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}, **marks}


class _Details(msgspec.Struct):
    thinking_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    output_tokens_details: _Details | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Message(msgspec.Struct):
    id: str | None = None
    content: list[dict[str, Any]] = []
    stop_reason: str | None = None
    usage: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Message | None = None
    usage: Any = None


_decoder = msgspec.json.Decoder(_Event, strict=False)
_whole = msgspec.json.Decoder(_Message, strict=False)


class AnthropicReader:
    """The `Reader` of Messages."""

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._asked, self._llm, self._watch = asked, asked.request.one, watch
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._id = self._reason = ""
        self._usage = _Usage()

    @property
    def ended(self) -> bool:
        return bool(self._reason)

    def take(self, data: bytes) -> bool:
        event = read(_decoder, data)
        match event.type:
            case "content_block_delta" if event.delta is not None:
                self._more(event.index, event.delta)
            case "content_block_start" if event.content_block is not None:
                self._begin(event.index, event.content_block)
            case "message_start" if event.message is not None:
                self._id = event.message.id or ""
                self._counted(event.message.usage)
            case "message_delta":
                self._reason = (event.delta.stop_reason if event.delta is not None else None) or self._reason
                self._counted(event.usage)
            case "message_stop":
                return True
            case "error":
                raise error_in(data)
            case _:
                pass
        return False

    def whole(self, data: bytes) -> None:
        message = read(_whole, data)
        if message.stop_reason is None and not message.content:
            raise error_in(data)
        self._id, self._reason = message.id or "", message.stop_reason or "end_turn"
        self._blocks = dict(enumerate(message.content))
        self._counted(message.usage)

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        """Begin a block, which may already contain the first words."""
        self._blocks[index], self._pieces[index] = block, []
        match block:
            case {"type": "text", "text": str(piece)} if piece:
                self._watch.show("text", piece)
            case {"type": "thinking", "thinking": str(piece)} if piece:
                self._watch.show("reasoning", piece)
            case _:
                pass

    def _more(self, index: int, delta: _Delta) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        pieces = self._pieces.setdefault(index, [])
        match delta:
            case _Delta(type="text_delta", text=str(piece)):
                pieces.append(piece)
                self._watch.show("text", piece)
            case _Delta(type="thinking_delta", thinking=str(piece)):
                pieces.append(piece)
                self._watch.show("reasoning", piece)
            case _Delta(type="input_json_delta", partial_json=str(piece)):
                pieces.append(piece)
            case _Delta(type="signature_delta", signature=str(piece)):
                block["signature"] = (block.get("signature") or "") + piece
            case _:
                pass

    def _counted(self, reported: Any) -> None:
        usage = counted(reported, _Usage)
        for name in usage.__struct_fields__ if usage is not None else ():
            if (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    def reply(self) -> ModelReply:
        if not self._reason:
            raise cut()
        text, reasoning, calls, thoughts = list[str](), list[str](), list[ToolCall](), list[dict[str, Any]]()
        for index, block in sorted(self._blocks.items()):
            more = "".join(self._pieces.get(index, ()))
            match block.get("type"):
                case "text":
                    text.append(str(block.get("text") or "") + more)
                case "thinking":
                    whole = str(block.get("thinking") or "") + more
                    reasoning.append(whole)
                    thoughts.append({**block, "thinking": whole})
                case "redacted_thinking":
                    thoughts.append(block)
                case "tool_use":
                    calls.append(self._call(block, more))
                case _:
                    pass
        return reply_of(
            self._asked,
            text="".join(text),
            calls=calls,
            reasoning="".join(reasoning),
            reason=_REASONS.get(self._reason, self._reason),
            id=self._id,
            usage=self._used(),
            thoughts=thoughts,
        )

    def _call(self, block: dict[str, Any], more: str) -> ToolCall:
        """Return a call. A call that was cut before its arguments is not one without any."""
        given = block.get("input") or {}
        cut_off = _REASONS.get(self._reason) == "length" and not given
        arguments = more or ("" if cut_off else msgspec.json.encode(given).decode())
        return ToolCall(str(block.get("id") or new_id()), str(block.get("name") or ""), arguments)

    def _used(self) -> Usage | None:
        """Return the usage, or None if the provider does not report it. Its `input_tokens` are those that were neither
        read from the cache nor written to it.
        """
        used = self._usage
        if not (used.input_tokens or used.output_tokens):
            return None
        read, write = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
        details = used.output_tokens_details
        return Usage(
            prompt_tokens=(used.input_tokens or 0) + read + write,
            completion_tokens=used.output_tokens or 0,
            cache_read_tokens=read,
            cache_write_tokens=write,
            reasoning_tokens=(details.thinking_tokens if details is not None else None) or 0,
        )
