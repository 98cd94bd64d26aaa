"""Anthropic's messages: `POST /v1/messages`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ...context.replies import ModelReply
from ...ids import new_id
from ..turns import Fault
from .anthropic_rules import AnthropicRules
from .seals import seal
from .wire import Answer, Frame, pieces, thoughts, usage

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}


class Anthropic:
    """A `Wire`. It knows the thinking of its own answers and of those `known`.

    Source: the API reference of Anthropic, "Messages", "Streaming messages" and "Errors".
    """

    path = "/v1/messages"

    def __init__(self, known: Iterable[ModelReply] = ()) -> None:
        self._rules = AnthropicRules()
        for reply in known:
            self._rules.remember(_blocks(reply))

    def position(self, body: dict[str, Any]) -> int:
        """Messages of the assistant."""
        return sum(message.get("role") == "assistant" for message in body["messages"])

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """Calls without results, altered thinking and the like."""
        return self._rules.refusal(body)

    def answer(self, body: dict[str, Any], reply: ModelReply) -> Answer:
        """A message, and its events."""
        blocks = _blocks(reply)
        self._rules.remember(blocks)
        wanted = "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason
        head: dict[str, Any] = {
            "id": f"msg_{new_id()}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
        }
        used = _usage(body, reply)
        end = {"stop_reason": _REASONS.get(wanted, wanted), "stop_sequence": None}
        whole = {**head, "content": blocks, **end, "usage": used}
        counted = {name: count for name, count in used.items() if name != "output_tokens_details"}
        begun = {**head, "content": [], "stop_reason": None, "stop_sequence": None}
        begun["usage"] = counted | {"output_tokens": 1}
        frames = [_frame("message_start", message=begun), _frame("ping")]
        arguments = (call.arguments for call in reply.tool_calls)
        for index, block in enumerate(blocks):
            frames += _block(index, block, arguments)
        frames += [_frame("message_delta", delta=end, usage=used), _frame("message_stop")]
        return Answer(whole, tuple(frames))

    def error(self, fault: Fault) -> dict[str, Any]:
        """`{"type": "error", "error": {...}}`."""
        kind = fault.type or _TYPES.get(fault.status, "api_error" if fault.status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": f"req_{new_id()}"}

    def failure(self, fault: Fault, begun: Answer, sent: int) -> tuple[Frame, ...]:
        """An event `error`."""
        return (Frame(self.error(fault), "error"),)


def _blocks(reply: ModelReply) -> list[dict[str, Any]]:
    blocks = thoughts(reply, "thinking", "redacted_thinking")
    if reply.reasoning and not blocks:
        blocks = [{"type": "thinking", "thinking": reply.reasoning, "signature": seal(reply.reasoning)}]
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for call in reply.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)})
    return blocks


def _input(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        return arguments


def _block(index: int, block: dict[str, Any], arguments: Iterator[str]) -> Iterator[Frame]:
    match block["type"]:
        case "text":
            begun, deltas = {**block, "text": ""}, [_text("text", piece) for piece in pieces(block["text"])]
        case "thinking":
            begun = {**block, "thinking": "", "signature": ""}
            deltas = [_text("thinking", piece) for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use":
            begun = {**block, "input": {}}
            given = ("", *pieces(next(arguments), 64))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in given]
        case _:
            begun, deltas = block, []
    yield _frame("content_block_start", index=index, content_block=begun)
    for delta in deltas:
        yield _frame("content_block_delta", index=index, delta=delta)
    yield _frame("content_block_stop", index=index)


def _text(name: str, piece: str) -> dict[str, str]:
    return {"type": f"{name}_delta", name: piece}


def _frame(event: str, **data: Any) -> Frame:
    return Frame({"type": event, **data}, event, event in ("content_block_stop", "message_delta", "message_stop"))


def _usage(body: dict[str, Any], reply: ModelReply) -> dict[str, Any]:
    """In its terms `input_tokens` are those that have nothing to do with the cache."""
    used = usage([body.get("system"), body["messages"]], reply)
    cached = used.cache_read_tokens + used.cache_write_tokens
    counted: dict[str, Any] = {
        "input_tokens": used.prompt_tokens - cached,
        "cache_creation_input_tokens": used.cache_write_tokens,
        "cache_read_input_tokens": used.cache_read_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": used.cache_write_tokens, "ephemeral_1h_input_tokens": 0},
        "output_tokens": used.completion_tokens,
        "service_tier": "standard",
    }
    if used.reasoning_tokens:
        counted["output_tokens_details"] = {"thinking_tokens": used.reasoning_tokens}
    return counted
