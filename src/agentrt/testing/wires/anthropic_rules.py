"""What Anthropic refuses of a message, in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ..turns import Fault
from .seals import opened
from .wire import first

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_DOCUMENTATION = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
_THINKING = ("thinking", "redacted_thinking")


class AnthropicRules:
    """The rules, with the memory that some of them need: what thinking was given, and before which calls."""

    def __init__(self) -> None:
        self._signed: dict[str, str] = {}
        self._redacted: set[str] = set()
        self._thought_before: dict[bytes, bool] = {}

    def remember(self, blocks: list[dict[str, Any]]) -> None:
        """An answer: its thinking must come back as it is."""
        for block in blocks:
            if block["type"] == "thinking":
                self._signed[block.get("signature", "")] = block["thinking"]
            elif block["type"] == "redacted_thinking":
                self._redacted.add(block["data"])
        if (calls := _calls(blocks)) is not None:
            self._thought_before[calls] = blocks[0]["type"] in _THINKING

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """The first thing that is wrong with a request."""
        return first(self._problems(body))

    def _problems(self, body: dict[str, Any]) -> Iterator[Fault | None]:
        for name in ("max_tokens", "messages"):
            if body.get(name) is None:
                yield _bad(f"{name}: Field required")
                return
        messages = [(message.get("role"), _content(message)) for message in body["messages"]]
        yield _roles(messages)
        yield from _texts(body.get("system"), messages)
        yield _marks(body)
        yield from _tools(body)
        yield from _pairs(messages)
        yield _settings(body)
        for index, (_, content) in enumerate(messages):
            for number, block in enumerate(content):
                yield self._thinking(f"messages.{index}.content.{number}", block)
        yield self._start(body, messages)
        if messages[-1][0] == "assistant":
            yield _bad(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )

    def _thinking(self, place: str, block: dict[str, Any]) -> Fault | None:
        if block.get("type") in _THINKING and "cache_control" in block:
            return _bad(f"{place}.{block['type']}.cache_control: Extra inputs are not permitted")
        if block.get("type") == "redacted_thinking" and block.get("data") not in self._redacted:
            return _bad(f"{place}: Invalid `data` in `redacted_thinking` block")
        if block.get("type") != "thinking":
            return None
        if "signature" not in block:
            return _bad(f"{place}.thinking.signature: Field required")
        meant = self._signed.get(block["signature"]) or opened(block["signature"])
        if not block["signature"] or meant is None:
            return _bad(f"{place}: Invalid `signature` in `thinking` block")
        if meant != block["thinking"]:
            return _bad(
                f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                "modified. These blocks must remain as they were in the original response."
            )
        return None

    def _start(self, body: dict[str, Any], messages: list[tuple[str, list[dict[str, Any]]]]) -> Fault | None:
        """With thinking, the assistant's last calls come after what was thought before them."""
        if (body.get("thinking") or {}).get("type") != "enabled":
            return None
        index, content = next(((i, c) for i, (r, c) in reversed([*enumerate(messages)]) if r == "assistant"), (0, []))
        calls = _calls(content)
        if calls is None or content[0]["type"] in _THINKING or not self._thought_before.get(calls, True):
            return None
        return _bad(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{content[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
            "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please "
            f"consult our documentation at {_DOCUMENTATION}"
        )


def _bad(message: str) -> Fault:
    return Fault(400, message)


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _calls(blocks: list[dict[str, Any]]) -> bytes | None:
    """What a message calls: ids may be changed, so it is known by names and arguments."""
    calls = [[block["name"], block["input"]] for block in blocks if block["type"] == "tool_use"]
    return msgspec.json.encode(calls, order="sorted") if calls else None


def _roles(messages: list[tuple[str, list[dict[str, Any]]]]) -> Fault | None:
    if not messages:
        return _bad("messages: at least one message is required")
    for index, (role, content) in enumerate(messages):
        if role not in ("user", "assistant"):
            return _bad(
                f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter, '
                f'not "{role}" as an input message role.'
            )
        if not content and not (role == "assistant" and index == len(messages) - 1):
            return _bad(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
    if messages[0][0] != "user":
        return _bad('messages: first message must use the "user" role')
    return None


def _texts(system: Any, messages: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[Fault]:
    parts = [("system", system)] if isinstance(system, list) else []
    for name, blocks in parts + [("messages", content) for _, content in messages]:
        for block in blocks:
            if block.get("type") != "text":
                continue
            if not block["text"]:
                yield _bad(f"{name}: text content blocks must be non-empty")
            elif not block["text"].strip():
                yield _bad(f"{name}: text content blocks must contain non-whitespace text")
    role, last = messages[-1]
    if role == "assistant" and last and last[-1].get("text", "").endswith((" ", "\n")):
        yield _bad("messages: final assistant content cannot end with trailing whitespace")


def _tools(body: dict[str, Any]) -> Iterator[Fault]:
    for index, tool in enumerate(body.get("tools") or ()):
        if tool.get("type", "custom") == "custom" and not _NAME.fullmatch(tool["name"]):
            yield _bad(f"tools.{index}.custom.name: String should match pattern '^{_NAME.pattern}$'")


def _marks(body: dict[str, Any]) -> Fault | None:
    """At most four marks of what may be cached."""
    marked = [*_marked([body.get("tools"), body.get("system"), body["messages"]])]
    if len(marked) > 4:
        return _bad(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    return None


def _marked(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if part.get("cache_control"):
            yield part
        part = [value for name, value in part.items() if name in ("content", "messages")]
    if isinstance(part, list):
        for member in part:
            yield from _marked(member)


def _pairs(messages: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[Fault]:
    waiting: list[str] = []
    seen: set[str] = set()
    for index, (_, content) in enumerate([*messages, ("end", [])]):
        answered: list[str] = []
        leading = True
        for number, block in enumerate(content):
            if block["type"] != "tool_result":
                leading = False
                continue
            place, call = f"messages.{index}.content.{number}", block["tool_use_id"]
            if call not in waiting:
                yield _bad(
                    f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each `tool_result` "
                    "block must have a corresponding `tool_use` block in the previous message."
                )
            elif call in answered:
                yield _bad(
                    f"{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                    f"{call}"
                )
            if leading:  # results come before anything else
                answered.append(call)
        if missing := [call for call in waiting if call not in answered]:
            yield _bad(
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        waiting = [block["id"] for block in content if block["type"] == "tool_use"]
        for number, block in enumerate(content):
            if block["type"] == "tool_use":
                yield from _call(f"messages.{index}.content.{number}.tool_use", block)
        if seen & {*waiting} or len({*waiting}) < len(waiting):
            yield _bad("messages: `tool_use` ids must be unique")
        seen.update(waiting)


def _call(place: str, block: dict[str, Any]) -> Iterator[Fault]:
    if not _ID.fullmatch(block["id"]):
        yield _bad(f"{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not _NAME.fullmatch(block["name"]):
        yield _bad(f"{place}.name: String should match pattern '^{_NAME.pattern}$'")
    if not isinstance(block["input"], dict):
        yield _bad(f"{place}.input: Input should be a valid dictionary")


def _settings(body: dict[str, Any]) -> Fault | None:
    """What goes with thinking."""
    thinking = body.get("thinking") or {}
    if thinking.get("type") not in ("enabled", "adaptive"):
        return None
    budget = thinking.get("budget_tokens")
    if thinking["type"] == "enabled" and (budget is None or budget < 1024):
        return _bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget is not None and body["max_tokens"] <= budget:
        return _bad(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            f"{_DOCUMENTATION}#max-tokens-and-context-window-size"
        )
    if body.get("temperature", 1) != 1:
        return _bad(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at "
            f"{_DOCUMENTATION}#important-considerations-when-using-extended-thinking"
        )
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        return _bad("Thinking may not be enabled when tool_choice forces tool use.")
    return None
