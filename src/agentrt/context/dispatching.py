"""Calls of a tool that stands for others: as calls of those. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ..specs import ToolDefinition
from .messages import ToolCall
from .repair import Repaired, repaired

HOW = 'give the name of a tool and its arguments, as in {"name": "...", "arguments": {...}}.'


class Meant(msgspec.Struct, frozen=True):
    """A call as it is meant, and the tool through which it was made; "": it was called itself."""

    call: Repaired
    asked: str
    """The name that the model gave."""
    through: str = ""


def meant(call: ToolCall, definitions: Sequence[ToolDefinition], *, cut: bool = False) -> Meant:
    """A call as it is meant; `cut` says that the reply ended in it. Text that is not as it was sent is kept whole."""
    outer = repaired(call, definitions, cut=cut)
    tool = next((definition for definition in definitions if definition.name == outer.name), None)
    if tool is None or not tool.dispatches or outer.problem is not None:
        return Meant(outer, call.name)
    given: dict[str, Any] = msgspec.json.decode(outer.arguments)
    name, arguments = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str) or not name or name == tool.name or not isinstance(arguments, str | dict):
        return Meant(replace(outer, problem=HOW), call.name)
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    inner = repaired(ToolCall(call.id, name, text), definitions)
    exact = outer.original is None and inner.original is None and isinstance(arguments, dict)
    return Meant(replace(inner, original=None if exact else call.arguments), name, tool.name)
