"""Describes tools in words, for the prompt of a model without function calling. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..specs import ToolDefinition
from .repair import admitted, parameters, resolved, variants

FORM = """\
<function=NAME>
<parameter=FIRST>value</parameter>
<parameter=SECOND>
a value of
several lines
</parameter>
</function>"""
JSON_FORM = '<tool_call>{"name": "NAME", "arguments": {"FIRST": "value", "SECOND": "a value"}}</tool_call>'

_INTRODUCTION = f"""\
# Tools

You work by calling tools. Write a call as the last part of your reply, in this form:

{FORM}

- What you want to think or say comes before the calls. Several calls may follow each other.
- After the calls, end your reply: the results come in the messages that follow. Never write a result yourself.
- A string is written as it is, with all its lines and spaces: nothing is quoted or escaped. The newline right after
  <parameter=...> and the one right before </parameter> are not part of it.
- Every other value is JSON: 5, true, [1, 20], {{"a": 1}}.
- Give each required parameter; leave out the others where you do not need them.
- A call with a value in which such tags occur is written as JSON instead:
{JSON_FORM}"""


def describe(tools: Sequence[ToolDefinition]) -> str:
    """Return the part of the system prompt that describes the tools and how to call them."""
    return "\n\n".join((_INTRODUCTION, *_example(tools), "The tools are:", *map(_described, tools)))


def _example(tools: Sequence[ToolDefinition]) -> Iterable[str]:
    for definition in tools:
        shape = parameters(definition)
        samples = {name: _sample(name, shape["properties"].get(name), shape) for name in shape.get("required", ())}
        if samples:
            given = (f"<parameter={name}>{_shown(value)}</parameter>" for name, value in samples.items())
            yield "\n".join(("For example:\n", f"<function={definition.name}>", *given, "</function>"))
            return


def _sample(name: str, schema: Any, whole: dict[str, Any]) -> Any:
    values = variants(schema, whole)[0].get("enum")
    if values:
        return values[0]
    kinds = admitted(schema, whole)
    samples = {"string": f"the {name}", "number": 1.5, "integer": 1, "boolean": True, "array": [], "object": {}}
    return next((sample for kind, sample in samples.items() if kind in kinds), None)


def _described(definition: ToolDefinition) -> str:
    shape = parameters(definition)
    lines = [
        f"## {definition.name}",
        definition.description,
        "Parameters:" if shape["properties"] else "No parameters.",
    ]
    for name, schema in shape["properties"].items():
        here = resolved(schema, shape)
        facts = [_kind(schema, shape), "required" if name in shape.get("required", ()) else "optional"]
        if here.get("default") not in (None, "", []):
            facts.append(f"default {_json(here['default'])}")
        said = here.get("description")
        lines.append(f"- {name} ({', '.join(facts)})" + (f": {said}" if said else ""))
    return "\n".join(lines)


def _kind(schema: Any, whole: dict[str, Any], depth: int = 4, *, raw: bool = True) -> str:
    """Return the type of a value in a few words; strings are quoted unless they are `raw`."""
    kinds = (_one_kind(variant, whole, depth, raw) for variant in variants(schema, whole))
    return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null")) or "null"


def _one_kind(here: dict[str, Any], whole: dict[str, Any], depth: int, raw: bool) -> str:
    match here:
        case {"enum": list(values)}:
            return "one of " + ", ".join(v if raw and isinstance(v, str) else _json(v) for v in values)
        case {"const": value}:
            return value if raw and isinstance(value, str) else _json(value)
        case {"type": "array", "items": items} if depth:
            return f"array of {_kind(items, whole, depth - 1, raw=False)}"
        case {"type": "object", "properties": dict(properties)} if depth:
            needed = here.get("required", ())
            fields = (
                f"{name}{'' if name in needed else '?'}: {_kind(schema, whole, depth - 1, raw=False)}"
                for name, schema in properties.items()
            )
            return "object {" + "; ".join(fields) + "}"
        case {"type": str(kind)}:
            return kind
        case {"type": list(kinds)}:
            return " or ".join(str(kind) for kind in kinds if kind != "null")
        case _:
            return "any"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
