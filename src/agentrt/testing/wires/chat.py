"""OpenAI's chat completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ...context.replies import ModelReply
from ...ids import new_id
from ..turns import Fault
from . import chat_rules
from .wire import Answer, Frame, pieces, usage

DONE = Frame("[DONE]", closing=True)


class Chat:
    """A `Wire`. Source: the API reference of OpenAI, "Create chat completion"."""

    path = "/v1/chat/completions"

    def position(self, body: dict[str, Any]) -> int:
        """Messages of the assistant."""
        return sum(message.get("role") == "assistant" for message in body["messages"])

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """Calls without results and the like."""
        return chat_rules.refusal(body)

    def answer(self, body: dict[str, Any], reply: ModelReply) -> Answer:
        """A `chat.completion`, and its chunks."""
        head = {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "model": body.get("model", "")}
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = _tool_calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        used = _usage(body, reply)
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": used}
        frames = [*_chunks(head, reply)]
        if (body.get("stream_options") or {}).get("include_usage"):
            last = {**head, "object": "chat.completion.chunk", "choices": [], "usage": used}
            frames.append(Frame(last, closing=True))
        return Answer(whole, (*frames, DONE))

    def error(self, fault: Fault) -> dict[str, Any]:
        """`{"error": {...}}`, as in all of OpenAI's interfaces."""
        return openai_error(fault)

    def failure(self, fault: Fault, begun: Answer, sent: int) -> tuple[Frame, ...]:
        """The error in place of a chunk."""
        return (Frame(self.error(fault)),)


def openai_error(fault: Fault) -> dict[str, Any]:
    """The envelope of OpenAI's errors."""
    kind = fault.type or ("server_error" if fault.status >= 500 else "invalid_request_error")
    return {"error": {"message": fault.message, "type": kind, "param": fault.param, "code": fault.code}}


def _chunks(head: dict[str, Any], reply: ModelReply) -> Iterator[Frame]:
    yield _chunk(head, {"role": "assistant", "content": ""})
    for piece in pieces(reply.reasoning):
        yield _chunk(head, {"reasoning_content": piece})
    for piece in pieces(reply.text):
        yield _chunk(head, {"content": piece})
    for index, call in enumerate(_tool_calls(reply)):
        given = call["function"]["arguments"]
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield _chunk(head, {"tool_calls": [begun]})
        for piece in pieces(given, 64):
            yield _chunk(head, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chunk(head, {}, _reason(reply))


def _chunk(head: dict[str, Any], delta: dict[str, Any], reason: str | None = None) -> Frame:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return Frame({**head, "object": "chat.completion.chunk", "choices": [choice]}, closing=reason is not None)


def _tool_calls(reply: ModelReply) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.tool_calls
    ]


def _reason(reply: ModelReply) -> str:
    return "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason


def _usage(body: dict[str, Any], reply: ModelReply) -> dict[str, Any]:
    used = usage(body["messages"], reply)
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total,
        "prompt_tokens_details": {
            "cached_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": used.reasoning_tokens, "audio_tokens": 0},
    }
