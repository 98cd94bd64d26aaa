"""`Question`: the part of a request that recordings are matched by, and the difference between two of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

import msgspec

from ..context.messages import Message
from ..prefix import common_prefix
from ..specs import LLM, AnyLLM, FallbackLLM, ToolDefinition

_NOT_OF_THE_ANSWER = frozenset(
    {
        "base_url", "api_key", "api_key_env", "client", "max_input_tokens", "encrypted_reasoning", "caching_prompt",
        "timeout", "num_retries", "retry_min_wait", "retry_max_wait", "stream", "usage_id", "input_cost_per_token",
        "output_cost_per_token", "cache_read_cost_per_token", "cache_write_cost_per_token",
    }
)  # fmt: skip
"""Settings of an LLM that affect where and how it is called and the price, but not the answer."""

_CONTEXT = 2
_MOST_LINES = 6
"""Maximum numbers of lines of an excerpt: before the first difference, and from it on."""

_BEFORE, _WIDTH = 60, 160
"""Maximum numbers of characters of a long line: before the first difference, and in total."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Question(msgspec.Struct, frozen=True):
    """A model's settings, tools and messages, as decoded JSON, without the parts that are new in each run."""

    settings: dict[str, Any]
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]

    def key(self) -> bytes:
        """Return a key; it is equal only for equal questions."""
        return _encode(self)

    def shared(self, other: Question) -> int:
        """Return how many messages at the beginning are the same."""
        return common_prefix(self.messages, other.messages)

    def likeness(self, other: Question) -> tuple[int, bool, bool, int]:
        """Return a measure of similarity: the greater, the more alike. A common beginning counts most."""
        further = abs(len(self.messages) - len(other.messages))
        return self.shared(other), self.tools == other.tools, self.settings == other.settings, -further


def question(llm: AnyLLM, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Question:
    """Return the part of a request that counts. Ids of calls become numbers, since they are new in each run."""
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return numbers.setdefault(name, f"call {len(numbers) + 1}")

    plain = _plain(list(messages))
    for message in plain:
        for call in message["tool_calls"]:
            call["id"] = number(call["id"])
        if message["tool_call_id"] is not None:
            message["tool_call_id"] = number(message["tool_call_id"])
    offered = [(tool.name, tool.description, tool.parameters) for tool in tools]
    return Question(_settings(llm), [dict(zip(_OFFERED, _plain(tool), strict=True)) for tool in offered], plain)


_OFFERED = ("name", "description", "parameters")


def difference(recorded: Question, now: Question) -> str:
    """Return where `now` differs from a recorded question: the first message, the first tool and the first setting."""
    found = (
        _messages_differ(recorded.messages, now.messages, recorded.shared(now)),
        _tools_differ(recorded.tools, now.tools),
        _first("the setting ", recorded.settings, now.settings),
    )
    return "\n".join(said for said in found if said is not None)


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _settings(llm: AnyLLM) -> dict[str, Any]:
    match llm:
        case LLM():
            return {name: value for name, value in _plain(llm).items() if name not in _NOT_OF_THE_ANSWER}
        case FallbackLLM(llms):
            return {"type": "FallbackLLM", "llms": [_settings(one) for one in llms]}
        case _:
            return {
                "type": "RouterLLM",
                "rule": llm.rule,
                "llms": {key: _settings(one) for key, one in llm.llms.items()},
            }


def _messages_differ(recorded: list[dict[str, Any]], now: list[dict[str, Any]], same: int) -> str | None:
    if same == len(recorded) == len(now):
        return None
    before = recorded[same] if same < len(recorded) else None
    after = now[same] if same < len(now) else None
    roles = list(dict.fromkeys(message["role"] for message in (before, after) if message is not None))
    what = f"message {same + 1} ({' recorded, '.join(roles)}{' now' if len(roles) > 1 else ''}) "
    if before is None:
        what += "was not in the recorded request, which ends before it"
    elif after is None:
        what += "of the recorded request is missing, where this one ends"
    else:
        what += "differs"
    old, new = _lines(before), _lines(after)
    if old == new:  # in how it is cut into blocks, or in what is not shown
        old, new = _lines(before, whole=True), _lines(after, whole=True)
    return f"{what}:\n{_excerpt(old, new)}"


def _lines(message: dict[str, Any] | None, *, whole: bool = False) -> list[str]:
    """Return the lines of a message for a person."""
    if message is None:
        return []
    if whole:
        return msgspec.json.format(_encode(message), indent=1).decode().split("\n")
    blocks = message["content"]
    lines = [line for block in blocks for line in block.get("text", _encode(block).decode()).splitlines()]
    lines += [f"[reasoning] {line}" for line in message["reasoning"].splitlines()]
    lines += [f"[{call['id']}] {call['name']} {call['arguments']}" for call in message["tool_calls"]]
    return lines if message["tool_call_id"] is None else [f"[answers {message['tool_call_id']}]", *lines]


def _excerpt(recorded: list[str], now: list[str]) -> str:
    """Return the first lines that differ, with their context, as a unified diff."""
    first = common_prefix(recorded, now)
    column = common_prefix(recorded[first], now[first]) if first < min(len(recorded), len(now)) else 0
    start, end = max(0, first - _CONTEXT), first + _MOST_LINES
    old, new = (
        [_part(line, column if n == first else 0) for n, line in enumerate(lines[start:end], start)]
        for lines in (recorded, now)
    )
    diff = unified_diff(old, new, "recorded", "now", lineterm="", n=_CONTEXT)
    return "\n".join(line for line in diff if not line.startswith("@@"))


def _part(line: str, column: int) -> str:
    """Return a line; for a long line, the part around a column."""
    start = max(0, column - _BEFORE) if len(line) > _WIDTH else 0
    end = start + _WIDTH
    return f"{'…' if start else ''}{line[start:end]}{'…' if len(line) > end else ''}"


def _tools_differ(recorded: list[dict[str, Any]], now: list[dict[str, Any]]) -> str | None:
    if recorded == now:
        return None
    before, after = ({tool["name"]: tool for tool in tools} for tools in (recorded, now))
    for name in after:
        if name not in before:
            return f"the tool {name!r} is offered now and was not recorded"
    for name, tool in before.items():
        if name not in after:
            return f"the tool {name!r} was recorded and is not offered now"
        if said := _first(f"the tool {name!r} in its ", tool, after[name]):
            return said
    return f"the tools are in another order: {', '.join(before)} recorded, {', '.join(after)} now"


def _first(what: str, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first member that differs, at any depth, with both values."""
    before, after = _leaves(recorded), _leaves(now)
    for place in [*before, *after]:
        old, new = before.get(place, _NOTHING), after.get(place, _NOTHING)
        if old != new:
            column = common_prefix(old, new)
            return f"{what}{place} differs: {_part(old, column)} recorded, {_part(new, column)} now"
    return None


_NOTHING = "nothing"


def _leaves(value: Any, place: str = "") -> dict[str, str]:
    """Return the innermost values of decoded JSON, as JSON, by their paths, such as `properties.path.type`."""
    match value:
        case dict() if value:
            inner = [(f"{place}.{name}" if place else name, item) for name, item in value.items()]
        case list() if value:
            inner = [(f"{place}[{number}]", item) for number, item in enumerate(value)]
        case _:
            return {place: _encode(value).decode()}
    return {at: leaf for name, item in inner for at, leaf in _leaves(item, name).items()}
