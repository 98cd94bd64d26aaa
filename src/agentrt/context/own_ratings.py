"""The model's own rating of a call: two additional arguments, which the tool does not see. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ..specs import SecurityRisk, ToolDefinition

_ASKED = (
    "How dangerous this call is. LOW: it only reads, or changes what is easily undone inside the workspace. MEDIUM: it"
    " changes more, or talks to a network. HIGH: it deletes, publishes, sends out data, or changes the system. UNKNOWN:"
    " you cannot tell."
)
_RISK = {"type": "string", "enum": [risk.value for risk in SecurityRisk], "description": _ASKED}
_SUMMARY = {"type": "string", "description": "What this call does and what for, in about ten words."}
_MARK = msgspec.json.encode(_ASKED)


class OwnRating(msgspec.Struct, frozen=True):
    """A call's arguments without the rating, and the rating."""

    arguments: msgspec.Raw
    risk: SecurityRisk = SecurityRisk.UNKNOWN
    summary: str = ""


def rated(definition: ToolDefinition) -> ToolDefinition:
    """Return a tool as it is offered if the model rates its calls; calls of a read-only tool are not rated."""
    if definition.annotations.read_only:
        return definition
    shape: dict[str, Any] = msgspec.json.decode(definition.parameters)
    properties = {**shape.get("properties", {}), "security_risk": _RISK, "summary": _SUMMARY}
    shape = {**shape, "properties": properties, "required": [*shape.get("required", ()), "security_risk", "summary"]}
    return replace(definition, parameters=msgspec.Raw(msgspec.json.encode(shape)))


def own_rating(arguments: msgspec.Raw, definition: ToolDefinition | None) -> OwnRating:
    """Take the rating out of the arguments of a call, if the model was asked for it."""
    text = bytes(arguments)
    if b'"security_risk"' not in text and b'"summary"' not in text:
        return OwnRating(arguments)
    if definition is None or _MARK not in bytes(definition.parameters):
        return OwnRating(arguments)
    given: dict[str, Any] = msgspec.json.decode(arguments)
    risk, summary = given.pop("security_risk", None), given.pop("summary", "")
    said = str(risk).strip().upper()
    known = SecurityRisk(said) if said in SecurityRisk.__members__ else SecurityRisk.UNKNOWN
    return OwnRating(msgspec.Raw(msgspec.json.encode(given)), known, summary if isinstance(summary, str) else "")
