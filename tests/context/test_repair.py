"""Calls that are nearly right."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.messages import ToolCall
from agentrt.context.repair import CUT, Repaired, fixed, json_end, repaired, suggestion, wire_name
from agentrt.specs import ToolDefinition
from agentrt.specs.content import sound
from agentrt.tools import BUILT_IN
from tests.timing import within

pytestmark = pytest.mark.pure

TOOLS = tuple(kind.definition for kind in BUILT_IN.values())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def tool(name: str = "look", **properties: Any) -> ToolDefinition:
    schema = msgspec.json.encode({"type": "object", "properties": properties})
    return ToolDefinition(name=name, description="Looks.", parameters=msgspec.Raw(schema))


def repair(name: str, arguments: str, *tools: ToolDefinition, cut: bool = False) -> Repaired:
    return repaired(ToolCall("1", name, arguments), tools or TOOLS, cut=cut)


def meant(name: str, arguments: str, *tools: ToolDefinition) -> tuple[str, Any]:
    made = repair(name, arguments, *tools)
    assert made.problem is None
    assert made.original in (None, arguments)
    return made.name, msgspec.json.decode(made.arguments)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('{"command": "a\nb\tc"}', "a\nb\tc"),
        ('{"command": "a \\\nb"}', "a \\\nb"),
        ('{"command": "a \\\\\nb"}', "a \\\nb"),
        ('{"command": "\x1b[0m\x00"}', "\x1b[0m\x00"),
        ('{"command": "ls",}', "ls"),
        ('{"command": "ls" ,\n  }', "ls"),
        ('{"command": "a,}\n",}', "a,}\n"),
        ('```json\n{"command": "ls"}\n```', "ls"),
        ('```\n{"command": "```\n"}', "```\n"),
        ('"{\\"command\\": \\"ls\\"}"', "ls"),
        ('"{\\"command\\": \\"ls\\",}"', "ls"),
    ],
)
def test_what_has_one_meaning_is_read(sent: str, read: str) -> None:
    made = repair("terminal", sent)
    assert (made.problem, made.original) == (None, sent), "the log keeps what was sent"
    assert msgspec.json.decode(made.arguments) == {"command": read}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ('{"command": "ls', "not valid JSON"),
        ('{"command": "ls"', "not valid JSON"),
        ('{"command": "ls"}}', "not valid JSON"),
        ("{'command': 'ls'}", "not valid JSON"),
        ('{"command": "\\d"}', "not valid JSON"),
        ("ls -l", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"command": 1e999}', "not valid JSON"),
        ('{"command": "\\ud800"}', "not valid JSON"),
        ('["ls"]', "not list"),
        ('"ls"', "not str"),
        ('"{half"', "not str"),
        ("null", "not NoneType"),
    ],
)
def test_what_has_none_is_said_and_kept(sent: str, why: str) -> None:
    made = repair("terminal", sent)
    assert made.problem is not None
    assert why in made.problem
    assert (bytes(made.arguments), made.original) == (b"{}", sent)


def test_no_arguments_are_an_empty_object_unless_the_reply_was_cut() -> None:
    assert repair("terminal", " ") == Repaired("terminal", msgspec.Raw(b"{}"))
    assert repair("terminal", "", cut=True).problem == CUT


def test_what_was_cut_is_told_so_and_what_was_whole_runs() -> None:
    assert repair("terminal", '{"command": "cat > x <<E\nhal', cut=True).problem == CUT
    assert repair("terminal", '{"command": "ls"}', cut=True).problem is None


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_valid_json_stays_as_it_is(value: dict[str, Any]) -> None:
    made = repair("look", msgspec.json.encode(value).decode(), tool())
    assert msgspec.json.decode(made.arguments) == value
    assert (made.problem, made.original) == (None, None)


@given(JSON)
def test_mending_leaves_valid_json_alone(value: Any) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    assert fixed(encoded) == encoded


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.data())
def test_a_part_of_a_call_is_no_call(value: dict[str, Any], data: st.DataObject) -> None:
    """Whether it is plain, encoded twice, in a fence, or has control characters."""
    plain = msgspec.json.encode(value).decode()
    twice = msgspec.json.encode(plain).decode()
    whole = data.draw(st.sampled_from([plain, plain.replace("\\n", "\n"), twice, f"```json\n{plain}"]))
    part = whole[: data.draw(st.integers(1, len(whole) - 1))]
    made = repair("look", part, tool())
    assert made.problem is not None
    assert bytes(made.arguments) == b"{}"


@given(st.text(alphabet='{}[]",\\\n `a:1', max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    for name in ("terminal", "git", text):
        made = repair(name, text)
        assert isinstance(msgspec.json.decode(made.arguments), dict)


NESTED = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "sent", "read"),
    [
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, ["1", "x"], [1, "x"]),
        ({"type": "array", "items": NESTED}, '[{"n": "1", "s": "1"}, "{\\"n\\": 2}"]', [{"n": 1, "s": "1"}, {"n": 2}]),
        ({"type": "object"}, '{"a": 1,}', {"a": 1}),
        ({"type": "integer"}, " 5 ", 5),
        ({"type": "integer"}, "5.5", "5.5"),
        ({"type": "number"}, "5", 5),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "yes", "yes"),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "None", None),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1]", [1]),
        ({"anyOf": [{"type": "array"}, {"type": "string"}]}, "[1]", "[1]"),
        ({"type": ["integer", "string"]}, "5", "5"),
        ({"enum": [1, 2]}, "1", 1),
        ({"enum": ["1", 2]}, "1", "1"),
        ({"const": True}, "true", True),
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, 5, 5),
        ({}, "[1]", "[1]"),
        (True, "[1]", "[1]"),
        ({"$ref": "#/properties/other"}, "5", 5),
        ({"$ref": "#/nowhere"}, "5", "5"),
        ({"$ref": "#/properties/x"}, "5", "5"),
        ({"type": "array"}, "[1", "[1"),
    ],
)
def test_strings_are_read_where_the_schema_wants_none(schema: Any, sent: Any, read: Any) -> None:
    arguments = msgspec.json.encode({"x": sent}).decode()
    made = repair("look", arguments, tool(x=schema, other={"type": "integer"}))
    assert msgspec.json.encode(msgspec.json.decode(made.arguments)) == msgspec.json.encode({"x": read})
    assert made.original == (None if msgspec.json.encode(read) == msgspec.json.encode(sent) else arguments)


def test_a_schema_that_contains_itself_has_an_end() -> None:
    schema = {"type": "array", "items": {"$ref": "#/properties/x"}}
    value: Any = "5"
    for _ in range(300):
        value = [value]
    assert meant("look", msgspec.json.encode({"x": value}).decode(), tool(x=schema)) == ("look", {"x": value})


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("terminal", "terminal"),
        ("Terminal", "terminal"),
        (" terminal\n", "terminal"),
        ("file-editor", "file_editor"),
        ("File Editor", "file_editor"),
        ("functions.terminal", "terminal"),
        ("functions.terminal:0", "terminal"),
        ("tools/file_editor", "file_editor"),
        ("terminal<|channel|>commentary", "terminal"),
        ("terminal()", "terminal"),
        ("`terminal`", "terminal"),
        ("bash", "terminal"),
        ("functions.execute_bash", "terminal"),
        ("str_replace_editor", "file_editor"),
        ("submit", "finish"),
        ("TodoWrite", "TodoWrite"),
        ("todo_write", "task_tracker"),
        ("terminal.file_editor", "terminal_file_editor"),
        ("terminal ls -l", "terminal_ls_-l"),
        ("dance", "dance"),
        ("", "unknown"),
        ("weird name!", "weird_name_"),
        ("x" * 70, "x" * 64),
    ],
)
def test_names(sent: str, name: str) -> None:
    assert repair(sent, "{}").name == name


def test_a_tool_that_exists_comes_before_an_alias() -> None:
    assert repair("bash", "{}", tool("bash"), tool("terminal")).name == "bash"
    assert repair("Bash", "{}", tool("bash"), tool("terminal")).name == "bash"
    assert repair("bash", "{}", tool("look")).name == "bash", "there is no terminal"
    assert repair("LOOK", "{}", tool("look"), tool("Look")).name == "LOOK", "it may be either"


def test_the_name_of_a_tools_command_is_its_command() -> None:
    given_ = '{"path": "/x", "old_str": "a", "new_str": "b"}'
    name, arguments = meant("str_replace", given_)
    assert (name, arguments["command"]) == ("file_editor", "str_replace")
    assert meant("str_replace", '{"command": "view"}')[1] == {"command": "view"}


@pytest.mark.parametrize(
    ("name", "sent", "command"),
    [
        ("git", '{"command": "status"}', "git status"),
        ("git", '{"command": "git status"}', "git status"),
        ("git", '{"command": "diff HEAD"}', "git diff HEAD"),
        ("git", '{"args": ["commit", "-m", "two words"]}', "git commit -m 'two words'"),
        ("git", '"status"', "git status"),
        ("tail", '["-n", "a b"]', "tail -n 'a b'"),
        ("ls", "", "ls"),
        ("pwd", "{}", "pwd"),
        ("ls", '{"args": ""}', "ls"),
        ("find", '{"args": ". -name \'*.py\'"}', "find . -name '*.py'"),
    ],
)
def test_the_name_of_a_command_goes_to_the_terminal(name: str, sent: str, command: str) -> None:
    made = repair(name, sent)
    assert (made.name, msgspec.json.decode(made.arguments)) == ("terminal", {"command": command})
    assert made.original == sent


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("git", '{"command": "cd /x && git status"}'),
        ("ls", '{"command": "cat x"}'),
        ("cat", "{}"),
        ("cat", '{"path": "/x"}'),
        ("tail", '{"args": "x", "path": "/x"}'),
        ("git", "status"),
        ("git", '{"args": [1]}'),
        ("git status", "{}"),
        ("dance", '{"command": "x"}'),
    ],
)
def test_unless_something_else_may_be_meant(name: str, sent: str) -> None:
    assert repair(name, sent).name == wire_name(name)


def test_other_parameters_of_the_terminal_are_kept() -> None:
    assert meant("git", '{"command": "fetch", "timeout": 5}') == ("terminal", {"timeout": 5, "command": "git fetch"})
    assert repair("git", '{"command": "fetch"}', tool("terminal")).name == "git", "this one takes no command"


def test_what_may_be_meant_is_suggested() -> None:
    assert suggestion("terminl", TOOLS) == " Did you mean terminal?"
    assert suggestion("quux", TOOLS) == ""
    assert suggestion("terminal", TOOLS) == "", "it exists"
    assert suggestion("file_edit" * 100_000, TOOLS) == ""


def test_halves_of_a_character_are_joined_or_replaced() -> None:
    assert sound("a\ud83d\ude00b") == "a\U0001f600b"
    assert sound("a\ud83d") == "a\ufffd"
    assert sound("plain") == "plain"
    made = repair("terminal", '{"command": "\ud83d\ude00",}')
    assert msgspec.json.decode(made.arguments) == {"command": "\U0001f600"}


def test_the_end_of_json_is_not_in_its_strings() -> None:
    text = 'x {"a": "}\\"}", "b": [{}]} }'
    assert text[2 : json_end(text, 2)] == '{"a": "}\\"}", "b": [{}]}'
    assert json_end('{"a": "}', 0) is None
    assert json_end('{"a": [1}', 0) is None


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '{"a":"' + "\\" * 400_001, "," + " " * 400_000, "`" * 400_000])
def test_it_takes_time_in_proportion(text: str) -> None:
    assert within(2.0, lambda: (repair("terminal", text), repair(text, text)))
