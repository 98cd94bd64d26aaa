"""`@tool` and `Tools`: schema, arguments, resources, and every refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from agentrt.context.replies import BadCall
from agentrt.errors import ToolMissing
from agentrt.protocols import Observation
from agentrt.specs import LocalWorkspace, OnCrash, Tool, ToolAnnotations
from agentrt.specs.content import plain, text
from agentrt.tools import BUILT_IN, tool
from agentrt.tools.definition import Tools, ToolType, file_key

from .context import FakeContext

pytestmark = pytest.mark.pure

WORKSPACE = LocalWorkspace("/work")


class Place(msgspec.Struct):
    """Where something is."""

    x: int
    y: int = 0


@tool
async def weather(
    city: Annotated[str, Meta(description="Its name.", min_length=2)],
    days: Annotated[int, Meta(ge=1, le=7)] = 1,
    *,
    unit: Literal["C", "F"] = "C",
    near: Place | None = None,
) -> str:
    """Forecast the weather.

    It may be wrong.
    """
    return f"{city} {days} {unit} {near}"


@tool
async def nothing() -> None:
    """Take nothing, and give nothing."""


@tool
async def places() -> list[Place]:
    """Give places."""
    return [Place(1, 2)]


@tool
async def refused() -> Observation:
    """Give an observation."""
    return Observation(content=text("no"), is_error=True)


@tool(name="other_name", annotations=ToolAnnotations(read_only=True), on_crash=OnCrash.RETRY)
async def described(value: float) -> str:
    """Have every setting."""
    return str(value)


def plain_function(value: str) -> str:
    """Be no coroutine."""
    return value


async def undocumented(value: str) -> str:
    return value


async def untyped(value) -> str:  # type: ignore[no-untyped-def]
    """Have a parameter without a type."""
    return str(value)


async def variable(*values: str) -> str:
    """Take any number of values."""
    return str(values)


async def keywords(**values: str) -> str:
    """Take any names."""
    return str(values)


async def positional(value: str, /) -> str:
    """Take a value by its place."""
    return value


async def opaque(value: Path | object) -> str:
    """Take what no JSON can be."""
    return str(value)


async def shared_default(values: list[int] = [1]) -> str:  # noqa: B006
    """Have a default that every call would share."""
    return str(values)


def parameters(kind: ToolType) -> dict[str, Any]:
    schema = msgspec.json.decode(kind.definition.parameters)
    assert isinstance(schema, dict)
    return schema


def tools(*kinds: ToolType) -> Tools:
    return Tools([Tool(kind.name) for kind in kinds], {kind.name: kind for kind in kinds}, WORKSPACE)


def parse(kind: ToolType, arguments: object) -> Any:
    return tools(kind).parse(kind.name, msgspec.Raw(msgspec.json.encode(arguments)))


def test_the_signature_becomes_the_schema() -> None:
    schema = parameters(weather)
    assert schema["type"] == "object"
    assert schema["required"] == ["city"]
    assert schema["properties"]["city"] == {"type": "string", "minLength": 2, "description": "Its name."}
    assert schema["properties"]["days"] == {"type": "integer", "minimum": 1, "maximum": 7, "default": 1}
    assert schema["properties"]["unit"] == {"enum": ["C", "F"], "type": "string", "default": "C"}
    assert {"$ref": "#/$defs/Place"} in schema["properties"]["near"]["anyOf"]
    assert schema["properties"]["near"]["default"] is None
    assert schema["$defs"]["Place"]["required"] == ["x"]
    assert "title" not in schema


def test_the_docstring_becomes_the_description() -> None:
    assert weather.name == "weather"
    assert weather.definition.description == "Forecast the weather.\n\nIt may be wrong."


def test_a_tool_without_parameters_has_an_empty_object() -> None:
    assert parameters(nothing) == {"type": "object", "properties": {}, "required": []}
    assert parse(nothing, {}) == nothing.action()


def test_settings_reach_the_definition() -> None:
    definition = described.definition
    assert (definition.name, definition.on_crash) == ("other_name", OnCrash.RETRY)
    assert definition.annotations.read_only
    assert weather.definition.on_crash is OnCrash.ASK


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_every_built_in_tool_can_be_offered(kind: ToolType) -> None:
    schema = parameters(kind)
    assert schema["type"] == "object"
    assert set(schema["required"]) <= set(schema["properties"])
    assert all("description" in field for field in schema["properties"].values())
    assert kind.definition.description
    assert kind.effects is not None, "its risk is rated by them"


@pytest.mark.simulated
async def test_a_call_runs_the_function_with_its_arguments(tmp_path: Path) -> None:
    action = parse(weather, {"city": "Köln", "unit": "F", "near": {"x": 3}})
    observation = await weather.executor({})(action, FakeContext(tmp_path))
    assert plain(observation.content) == "Köln 1 F Place(x=3, y=0)"
    assert not observation.is_error


@pytest.mark.simulated
async def test_what_is_no_text_is_shown_as_json(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    assert plain((await places.executor({})(places.action(), context)).content) == '[{"x":1,"y":2}]'
    assert plain((await nothing.executor({})(nothing.action(), context)).content) == "null"


@pytest.mark.simulated
async def test_an_observation_is_passed_on(tmp_path: Path) -> None:
    observation = await refused.executor({})(refused.action(), FakeContext(tmp_path))
    assert (plain(observation.content), observation.is_error) == ("no", True)


@given(st.integers(1, 7), st.booleans())
def test_numbers_may_come_as_text(days: int, as_text: bool) -> None:
    action = parse(weather, {"city": "Bonn", "days": str(days) if as_text else days})
    assert action.days == days


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "missing required field `city`"),
        ({"city": 5}, "Expected `str`, got `int`"),
        ({"city": "x"}, "length >= 2"),
        ({"city": "Bonn", "days": 8}, "`int` <= 7"),
        ({"city": "Bonn", "days": "many"}, "Expected `int`"),
        ({"city": "Bonn", "unit": "K"}, "Invalid enum value 'K'"),
        ({"city": "Bonn", "near": {"y": 1}}, "missing required field `x`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_schema(arguments: object, reason: str) -> None:
    with pytest.raises(BadCall) as refusal:
        parse(weather, arguments)
    assert str(refusal.value).startswith("the arguments of weather do not fit: ")
    assert reason in str(refusal.value)
    told = str(refusal.value).partition("Their schema is ")[2]
    assert msgspec.json.decode(told) == parameters(weather)


def test_a_call_of_an_unknown_tool_lists_the_tools() -> None:
    with pytest.raises(BadCall, match=r"unknown tool 'wether'\. The tools are: weather, nothing\."):
        tools(weather, nothing).resources("wether", msgspec.Raw(b"{}"))


def test_a_call_that_does_not_fit_has_no_resources() -> None:
    with pytest.raises(BadCall, match="do not fit"):
        tools(weather).resources("weather", msgspec.Raw(b'{"days":1}'))


def test_a_tool_without_implementation_is_missing() -> None:
    with pytest.raises(ToolMissing) as missing:
        Tools([Tool("weather"), Tool("nowhere")], {"weather": weather, "nothing": nothing}, WORKSPACE)
    assert (missing.value.name, missing.value.known) == ("nowhere", ("nothing", "weather"))


def test_definitions_come_in_the_order_of_the_agent_s_tools() -> None:
    assert [definition.name for definition in tools(places, weather, nothing).definitions] == [
        "places",
        "weather",
        "nothing",
    ]


def test_calls_of_a_tool_that_declares_nothing_wait_for_each_other() -> None:
    assert tools(nothing).resources("nothing", msgspec.Raw(b"{}")) == ("*",)


def test_declared_resources_are_made_of_the_call_and_the_workspace() -> None:
    kind = ToolType(
        name="nothing",
        description="x",
        action=Place,
        executor=nothing.executor,
        resources=lambda action, workspace: (f"{workspace.path}:{action.x}", f"{action.y}"),
    )
    assert tools(kind).resources("nothing", msgspec.Raw(b'{"x":"1"}')) == ("/work:1", "0")


def test_an_executor_gets_the_agent_s_parameters() -> None:
    given_params: list[object] = []
    kind = ToolType("k", "x", Place, lambda params: given_params.append(params) or nothing.executor(params))  # type: ignore[func-returns-value]
    both = Tools([Tool("k", {"limit": 3})], {"k": kind}, WORKSPACE)
    assert both.executor("k") is not both.executor("k")
    assert given_params == [{"limit": 3}, {"limit": 3}]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/etc/a", "file:/etc/a"),
        ("a", "file:/work/a"),
        ("/work/b/../a", "file:/work/a"),
        ("../work/./a", "file:/work/a"),
    ],
)
def test_a_file_has_one_key(path: str, key: str) -> None:
    assert file_key(path, WORKSPACE) == key
