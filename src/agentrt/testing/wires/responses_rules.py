"""What OpenAI refuses of a request for a response, in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..turns import Fault
from .chat_rules import bad, empty, named
from .seals import opened
from .wire import first

_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_PARTS = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file"),
}


class ResponsesRules:
    """The rules, with the memory that some of them need: what reasoning was given, and which items came of it."""

    def __init__(self) -> None:
        self._encrypted: set[str] = set()
        self._came_of: dict[str, str] = {}

    def remember(self, items: list[dict[str, Any]]) -> None:
        """An answer: its reasoning must come back as it is, and with what it led to."""
        reasoning = None
        for item in items:
            if item["type"] == "reasoning":
                reasoning = item.get("id")
                self._encrypted.add(item.get("encrypted_content") or "")
            elif reasoning is not None:
                self._came_of[item["id"]] = reasoning
                reasoning = None

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """The first thing that is wrong with a request."""
        return first(self._problems(body))

    def _problems(self, body: dict[str, Any]) -> Iterator[Fault | None]:
        given = body.get("input")
        if given is None:
            yield bad("Missing required parameter: 'input'.", "input", "missing_required_parameter")
        if given == []:
            yield empty("input")
        yield from _settings(body)
        items = given if isinstance(given, list) else []
        for index, item in enumerate(items):
            yield _shape(index, item)
        yield from _pairs(items)
        for before, item, after in zip([{}, *items], items, [*items[1:], {}], strict=False):
            if item.get("type") == "reasoning":
                yield self._reasoning(item, after, stored=body.get("store", True))
            elif (needed := self._came_of.get(item.get("id") or "")) and before.get("id") != needed:
                yield bad(
                    f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item: "
                    f"'{needed}'.",
                    "input",
                )

    def _reasoning(self, item: dict[str, Any], after: dict[str, Any], *, stored: bool) -> Fault | None:
        name, sealed = item.get("id"), item.get("encrypted_content")
        if not sealed and not stored:
            return bad(
                f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again "
                "with `store` set to true, or remove this item from your input.",
                "input",
                status=404,
            )
        if sealed and sealed not in self._encrypted and opened(sealed) is None:
            return bad(
                f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. Reason: Encrypted content "
                "could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )
        if not is_answer(after):
            return bad(f"Item '{name}' of type 'reasoning' was provided without its required following item.", "input")
        return None


def is_answer(item: dict[str, Any]) -> bool:
    """Whether an item is the model's own."""
    return item.get("type") in ("reasoning", "function_call") or item.get("role") == "assistant"


def _settings(body: dict[str, Any]) -> Iterator[Fault | None]:
    most = body.get("max_output_tokens")
    if most is not None and most < 16:
        yield bad(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
            f"{most} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    if body.get("previous_response_id"):
        said = f"Previous response with id '{body['previous_response_id']}' not found."
        yield bad(said, "previous_response_id", "previous_response_not_found")
    for index, tool in enumerate(body.get("tools") or ()):
        place = f"tools[{index}].name"
        if tool.get("type") == "function" and not tool.get("name"):
            yield bad(f"Missing required parameter: '{place}'.", place, "missing_required_parameter")
        elif tool.get("type") == "function":
            yield named(place, tool["name"])


def _shape(index: int, item: dict[str, Any]) -> Fault | None:
    kind = item.get("type", "message")
    name, prefix = item.get("id"), _PREFIXES.get(kind, "")
    if name is not None and not name.startswith(prefix):
        place = f"input[{index}].id"
        return bad(
            f"Invalid '{place}': '{name}'. Expected an ID that begins with '{prefix}'.",
            place,
            "invalid_value",
        )
    if kind == "function_call" and (fault := named(f"input[{index}].name", item["name"])):
        return fault
    supported = _PARTS.get(item.get("role", ""))
    content = item.get("content")
    if kind == "message" and supported and isinstance(content, list):
        for number, part in enumerate(content):
            if part.get("type") not in supported:
                names = [f"'{name}'" for name in supported]
                said = ", ".join(names[:-1]) + ("," if len(names) > 2 else "") + f" and {names[-1]}"
                place = f"input[{index}].content[{number}]"
                return bad(
                    f"Invalid value: '{part.get('type')}'. Supported values are: {said}.", place, "invalid_value"
                )
    return None


def _pairs(items: list[dict[str, Any]]) -> Iterator[Fault]:
    called: set[str] = set()
    answered: set[str] = set()
    for item in items:
        if item.get("type") == "function_call":
            called.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in called:
                said = f"No tool call found for function call output with call_id {item['call_id']}."
                yield bad(said, "input")
            answered.add(item["call_id"])
    for item in items:
        if item.get("type") == "function_call" and item["call_id"] not in answered:
            yield bad(f"No tool output found for function call {item['call_id']}.", "input")
