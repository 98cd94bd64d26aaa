"""What OpenAI refuses of a chat completion, in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..turns import Fault
from .wire import first

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST_NAME = 64


def refusal(body: dict[str, Any]) -> Fault | None:
    """The first thing that is wrong with a request."""
    return first(_problems(body))


def bad(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Fault:
    """A request that OpenAI refuses."""
    return Fault(status, message, code, type="invalid_request_error", param=param)


def empty(name: str) -> Fault:
    """A list that must have members."""
    said = f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return bad(said, name, "empty_array")


def _problems(body: dict[str, Any]) -> Iterator[Fault | None]:
    messages = body.get("messages")
    if messages is None:
        yield bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
        return
    if not messages:
        yield empty("messages")
    if body.get("stream_options") and not body.get("stream"):
        yield bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if body.get("tools") == []:
        yield empty("tools")
    for index, message in enumerate(messages):
        yield _content(index, message)
        yield _calls(index, message)
    for index, tool in enumerate(body.get("tools") or ()):
        yield named(f"tools[{index}].function.name", tool["function"]["name"])
    yield from _pairs(messages)


def _content(index: int, message: dict[str, Any]) -> Fault | None:
    role, content = message.get("role"), message.get("content")
    if content is None and not message.get("tool_calls"):
        return bad("Invalid value for 'content': expected a string, got null.", f"messages.[{index}].content")
    kinds = [block.get("type") for block in content] if isinstance(content, list) else []
    if role != "user" and "image_url" in kinds:
        said = (
            f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL."
        )
        return bad(said, f"messages[{index}]", "invalid_value")
    return None


def _calls(index: int, message: dict[str, Any]) -> Fault | None:
    calls = message.get("tool_calls")
    place = f"messages[{index}].tool_calls"
    if calls == []:
        return empty(place)
    for number, call in enumerate(calls or ()):
        if fault := named(f"{place}[{number}].function.name", call["function"]["name"]):
            return fault
    return None


def named(place: str, name: str) -> Fault | None:
    """Why a function cannot have this name."""
    if not _NAME.fullmatch(name):
        said = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        return bad(f"Invalid '{place}': {said}", place, "invalid_value")
    if len(name) > _LONGEST_NAME:
        said = f"Expected a string with maximum length {_LONGEST_NAME}, but got a string with length {len(name)}"
        return bad(f"Invalid '{place}': string too long. {said} instead.", place, "string_above_max_length")
    return None


def _pairs(messages: list[dict[str, Any]]) -> Iterator[Fault]:
    waiting: list[str] = []
    asked = 0
    end: dict[str, Any] = {"role": "end"}
    for index, message in enumerate([*messages, end]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                said = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'."
                )
                yield bad(said, f"messages.[{index}].role")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            said = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(waiting)
            )
            yield bad(said, f"messages.[{asked + 1}].role")
        waiting, asked = [call["id"] for call in message.get("tool_calls") or ()], index
