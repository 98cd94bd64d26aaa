"""OpenAI's Responses: `POST /v1/responses`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from ...context.replies import ModelReply
from ...ids import new_id
from ..turns import Fault
from .chat import openai_error
from .responses_rules import ResponsesRules, is_answer
from .seals import seal
from .wire import Answer, Frame, pieces, thoughts, usage

_ENCRYPTED = "reasoning.encrypted_content"
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "reasoning": {"summary": []},
}
_CLOSING = {"response.output_text.done", "response.completed", "response.incomplete"}


class Responses:
    """A `Wire`. It knows the reasoning of its own answers and of those `known`.

    Source: the API reference of OpenAI, "Create a model response" and "Streaming events".
    """

    path = "/v1/responses"

    def __init__(self, known: Iterable[ModelReply] = ()) -> None:
        self._rules = ResponsesRules()
        for reply in known:
            self._rules.remember(thoughts(reply, "reasoning"))

    def position(self, body: dict[str, Any]) -> int:
        """Unbroken rows of items that are the model's."""
        items = [is_answer(item) for item in _input(body)]
        return sum(mine and not before for mine, before in zip(items, [False, *items], strict=False))

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """Calls without results, reasoning without what it led to and the like."""
        return self._rules.refusal(body)

    def answer(self, body: dict[str, Any], reply: ModelReply) -> Answer:
        """A response, and its events."""
        items = _items(body, reply)
        self._rules.remember(items)
        begun = _head(body)
        cause = _INCOMPLETE.get(reply.finish_reason)
        status = "incomplete" if cause else "completed"
        whole = {
            **begun,
            "status": status,
            "incomplete_details": {"reason": cause} if cause else None,
            "output": items,
            "usage": _usage(body, reply),
        }
        events = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
        for index, item in enumerate(items):
            events += _item(index, item)
        events.append({"type": f"response.{status}", "response": whole})
        return Answer(whole, tuple(_frame(event, number) for number, event in enumerate(events)))

    def error(self, fault: Fault) -> dict[str, Any]:
        """`{"error": {...}}`, as in all of OpenAI's interfaces."""
        return openai_error(fault)

    def failure(self, fault: Fault, begun: Answer, sent: int) -> tuple[Frame, ...]:
        """From status 500 on a response that failed, else an event `error`."""
        if fault.status < 500:
            return (_frame({"type": "error", **self.error(fault)}, sent),)
        error = {"code": fault.code or "server_error", "message": fault.message}
        failed = {**begun.whole, "status": "failed", "error": error, "output": [], "usage": None}
        return (_frame({"type": "response.failed", "response": failed}, sent),)


def _input(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("input")
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"resp_{new_id()}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": {},
        "model": body.get("model", ""),
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": None,
    }


def _items(body: dict[str, Any], reply: ModelReply) -> list[dict[str, Any]]:
    items = thoughts(reply, "reasoning")
    if reply.reasoning and not items:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items = [{"id": f"rs_{new_id()}", "type": "reasoning", "summary": summary}]
        if _ENCRYPTED in (body.get("include") or ()):
            items[0]["encrypted_content"] = seal(reply.reasoning)
    if reply.text or not reply.tool_calls:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        status = "incomplete" if reply.finish_reason in _INCOMPLETE else "completed"
        message = {"id": f"msg_{new_id()}", "type": "message", "status": status, "role": "assistant"}
        items.append({**message, "content": [part]})
    for call in reply.tool_calls:
        given = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        items.append({"id": f"fc_{new_id()}", "type": "function_call", "status": "completed", **given})
    return items


def _item(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    where = {"output_index": index}
    empty = _EMPTY[item["type"]]
    started: dict[str, Any] = {} if item["type"] == "reasoning" else {"status": "in_progress"}
    yield {"type": "response.output_item.added", **where, "item": {**item, **empty, **started}}
    inside = where | {"item_id": item["id"]}
    match item["type"]:
        case "message":
            yield from _text(inside, item["content"][0])
        case "function_call":
            for piece in pieces(item["arguments"], 64):
                yield {"type": "response.function_call_arguments.delta", **inside, "delta": piece}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **inside, **done}
        case _:
            for number, part in enumerate(item["summary"]):
                yield from _summary(inside | {"summary_index": number}, part)
    yield {"type": "response.output_item.done", **where, "item": item}


def _text(inside: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    inside = inside | {"content_index": 0}
    yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **inside, "part": part}


def _summary(inside: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.reasoning_summary_part.added", **inside, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **inside, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **inside, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **inside, "part": part}


def _frame(event: dict[str, Any], number: int) -> Frame:
    return Frame({**event, "sequence_number": number}, event["type"], event["type"] in _CLOSING)


def _usage(body: dict[str, Any], reply: ModelReply) -> dict[str, Any]:
    used = usage([body.get("instructions"), body.get("input")], reply)
    return {
        "input_tokens": used.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
        },
        "output_tokens": used.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
        "total_tokens": used.total,
    }
