"""Converts a call of the tool that calls deferred tools into a call of the deferred tool. Pure."""

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
    """A call as the model meant it, and the tool through which it was made; "": none, it is a direct call."""

    call: Repaired
    asked: str
    """The name that the model gave."""
    through: str = ""


def meant(call: ToolCall, definitions: Sequence[ToolDefinition], *, cut: bool = False) -> Meant:
    """Return a call as the model meant it; `cut` says that a limit ended the reply within it. If the arguments had to
    be repaired, their whole text is kept in `original`.
    """
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
