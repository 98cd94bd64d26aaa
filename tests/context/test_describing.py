"""Tools in words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentrt.context.describing import FORM, JSON_FORM, describe
from agentrt.context.prompted import parse
from agentrt.specs import ToolDefinition
from agentrt.tools import BUILT_IN

pytestmark = pytest.mark.pure

TOOLS = tuple(kind.definition for kind in BUILT_IN.values())


def tool(name: str, schema: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=f"The {name}.", parameters=msgspec.Raw(msgspec.json.encode(schema)))


def test_every_tool_and_parameter_is_there() -> None:
    said = describe(TOOLS)
    for definition in TOOLS:
        assert f"## {definition.name}\n{definition.description}" in said
        for name, schema in msgspec.json.decode(definition.parameters)["properties"].items():
            assert f"- {name} (" in said
            assert schema["description"] in said


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "x (string, optional)"),
        ({"type": "integer", "default": 3}, "x (integer, optional, default 3)"),
        ({"type": "boolean", "default": False}, "x (boolean, optional, default false)"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}, "x (number, optional)"),
        ({"type": ["string", "null"]}, "x (string, optional)"),
        ({"enum": ["a", "b", 1]}, "x (one of a, b, 1, optional)"),
        ({"const": "a"}, "x (a, optional)"),
        ({"type": "array"}, "x (array, optional)"),
        ({"type": "array", "items": {"enum": ["a"]}}, 'x (array of one of "a", optional)'),
        ({"$ref": "#/$defs/Place", "description": "Where."}, "x (object {at: number; note?: string}, optional)"),
        ({"type": "null"}, "x (null, optional)"),
        (True, "x (any, optional)"),
    ],
)
def test_the_type_of_a_parameter(schema: Any, said: str) -> None:
    place = {"type": "object", "properties": {"at": {"type": "number"}, "note": {"type": "string"}}, "required": ["at"]}
    whole = {"type": "object", "properties": {"x": schema}, "$defs": {"Place": place}}
    assert f"Parameters:\n- {said}" in describe([tool("look", whole)])


def test_a_tool_without_parameters_says_so() -> None:
    assert describe([tool("look", {"type": "object"})]).endswith("## look\nThe look.\nNo parameters.")


def test_a_schema_that_contains_itself_has_an_end() -> None:
    schema = {"properties": {"x": {"type": "array", "items": {"$ref": "#/properties/x"}}}}
    assert "x (array of array of array of array of array" in describe([tool("look", schema)])


def test_the_forms_are_read() -> None:
    (call,) = parse(FORM, ()).calls
    assert (call.name, msgspec.json.decode(call.arguments)) == (
        "NAME",
        {"FIRST": "value", "SECOND": "a value of\nseveral lines"},
    )
    (call,) = parse(JSON_FORM, ()).calls
    assert call.name == "NAME"


def test_the_example_is_a_call_of_one_of_the_tools() -> None:
    kinds = {"a": "string", "b": "integer", "c": "boolean", "d": "array", "e": "object", "f": "number"}
    properties = {name: {"type": kind} for name, kind in kinds.items()} | {"g": {"enum": ["one"]}}
    definition = tool("look", {"properties": properties, "required": list(properties)})
    bare = tool("wait", {"type": "object"})
    example = describe([bare, definition]).partition("For example:\n\n")[2].partition("\n\n")[0]
    (call,) = parse(example, [bare, definition]).calls
    assert call.name == "look"
    assert msgspec.json.decode(call.arguments) == {
        "a": "the a",
        "b": 1,
        "c": True,
        "d": [],
        "e": {},
        "f": 1.5,
        "g": "one",
    }
    assert "For example" not in describe([bare])
