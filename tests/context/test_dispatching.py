"""Calls through a tool that stands for others."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.dispatching import HOW, meant
from agentrt.context.messages import ToolCall, sent
from agentrt.specs import ToolDefinition
from agentrt.specs.deferral import CALL, search_tools

pytestmark = pytest.mark.pure

ADD = ToolDefinition(
    name="add",
    description="",
    parameters=msgspec.Raw(b'{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'),
)
TOOLS = (*search_tools({"many": 1}), ADD)


def through(text: str) -> ToolCall:
    return ToolCall("1", CALL, text)


@given(st.dictionaries(st.text(max_size=5), st.integers(min_value=-(2**31), max_value=2**31) | st.booleans()))
def test_what_is_sent_is_meant_again(arguments: dict[str, object]) -> None:
    text = msgspec.json.encode(arguments).decode()
    name, whole = sent("add", text, CALL)
    found = meant(ToolCall("1", name, whole), TOOLS)
    assert (found.call.name, found.through, found.call.original) == ("add", CALL, None)
    assert bytes(found.call.arguments).decode() == text
    assert sent("add", text, "") == ("add", text)


@pytest.mark.parametrize(
    "arguments", ['{"a": "5"}', "{'a': 5}", '"{\\"a\\": 5}"'], ids=["a text for a number", "no JSON", "JSON in a text"]
)
def test_slips_are_mended_as_in_other_calls(arguments: str) -> None:
    outer = f'{{"name": "Add", "arguments": {arguments}}}'
    found = meant(through(outer), TOOLS)
    if arguments.startswith("{'"):
        assert found.call.problem is not None
    else:
        assert json.loads(bytes(found.call.arguments)) == {"a": 5}
        assert (found.call.name, found.asked, found.through, found.call.original) == ("add", "Add", CALL, outer)


@pytest.mark.parametrize(
    "outer",
    [
        "{}",
        '{"name": ""}',
        '{"name": 5, "arguments": {}}',
        '{"name": "call_tool", "arguments": {}}',
        '{"name":"add","arguments":[1]}',
    ],
)
def test_what_names_no_tool_says_how_it_is_done(outer: str) -> None:
    found = meant(through(outer), TOOLS)
    assert found.call.name == CALL
    assert found.call.problem == HOW
    assert found.through == ""


def test_another_call_stays_as_it_is() -> None:
    found = meant(ToolCall("1", "add", '{"a":1}'), TOOLS)
    assert (found.call.name, found.asked, found.through) == ("add", "add", "")
