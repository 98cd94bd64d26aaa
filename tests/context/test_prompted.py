"""Models without function calling."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt.context.messages import Message, ToolCall, to_messages
from agentrt.context.prompted import CUT, describe, parse, prompted, rendered
from agentrt.events import Event
from agentrt.specs import ImageContent, TextContent, ToolDefinition
from agentrt.specs.content import plain, text
from agentrt.state import State, apply
from agentrt.tools import BUILT_IN
from tests import samples
from tests.histories import histories
from tests.timing import within

pytestmark = pytest.mark.pure

TOOLS = tuple(kind.definition for kind in BUILT_IN.values())


def calls(said: str, *, cut: bool = False) -> list[tuple[str, Any]]:
    """What is called, where nothing is wrong."""
    parsed = parse(said, TOOLS, cut=cut)
    assert parsed.complaint is None, parsed.complaint
    return [(call.name, msgspec.json.decode(call.arguments)) for call in parsed.calls]


def complaint(said: str, *, cut: bool = False) -> str:
    """What is wrong, where nothing is called."""
    parsed = parse(said, TOOLS, cut=cut)
    assert parsed.calls == ()
    assert parsed.thought == said, "the model sees what it wrote"
    return parsed.complaint or ""


def terminal(body: str) -> str:
    return f"<function=terminal>\n{body}\n</function>"


LS = ("terminal", {"command": "ls"})


# What is read


@pytest.mark.parametrize(
    "said",
    [
        "<function=terminal>\n<parameter=command>ls</parameter>\n</function>",
        "<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>",
        "<function=terminal><parameter=command>ls</parameter></function>",
        "<function=terminal>\n<parameter=command>ls</parameter>\n",
        "<function=terminal>\n<parameter=command>ls</parameter>\n</function",
        "<function=terminal>\n<parameter=command>ls</parameter>\n</",
        "<function=terminal>\n<parameter=command>ls\n</function>",
        "<function=terminal>\n<parameter=command>ls</function>",
        '<function name="terminal">\n<parameter name="command">ls</parameter>\n</function>',
        "<function='terminal'>\n<parameter=\"command\">ls</parameter>\n</function>",
        "<FUNCTION=terminal>\n<Parameter=command>ls</PARAMETER>\n</Function>",
        "<function = terminal >\n<parameter= command >ls</parameter >\n</function >",
        "<function=terminal>\n<parameter=Command>ls</parameter>\n</function>",
        "```\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n```",
        "```xml\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n```\n",
        "```xml\n<function=terminal>\n<parameter=command>ls</parameter>\n",
        "<tool_call>\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
        "<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=terminal>\n<parameter=command>ls</parameter>\n</tool_call>",
        '<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}</tool_call>',
        '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls"}}',
        '<tool_call>\n```json\n{"name": "terminal", "parameters": {"command": "ls",},}\n```\n</tool_call>',
        '<Tool_Call>[{"function": {"name": "terminal", "arguments": "{\\"command\\": \\"ls\\"}"}}]</Tool_Call>',
    ],
)
def test_what_has_one_meaning_is_read(said: str) -> None:
    assert calls(said) == [LS]
    assert parse(said, TOOLS).thought == ""
    assert parse(f"I look.\n\n{said}", TOOLS).thought == "I look."


def test_several_calls_follow_each_other() -> None:
    view = "<function=file_editor>\n<parameter=command>view</parameter>\n<parameter=path>/x</parameter>\n</function>"
    json = '<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}</tool_call>'
    said = f"First.\n{terminal('<parameter=command>ls</parameter>')}\nThen.\n{view}\n{json}{json}\nLast."
    assert calls(said) == [LS, ("file_editor", {"command": "view", "path": "/x"}), LS, LS]
    parsed = parse(said, TOOLS)
    assert parsed.thought == "First.\n\nThen.\n\nLast."
    assert len({call.id for call in parsed.calls}) == 4
    assert all(call.id.startswith("call_") for call in parsed.calls)
    two = '<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}\n{"name": "think"}</tool_call>'
    assert calls(two) == [LS, ("think", {})]


def test_several_calls_in_a_fence() -> None:
    one = terminal("<parameter=command>ls</parameter>")
    parsed = parse(f"I look:\n\n```xml\n{one}\n{one}\n```\nDone.\n```\nan example\n```", TOOLS)
    assert len(parsed.calls) == 2
    assert parsed.thought == "I look:\n\nDone.\n```\nan example\n```"


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("", ""),
        ("\n", ""),
        ("\n\n", ""),
        ("\n\n\n", "\n"),
        ("  a  ", "  a  "),
        ("\n  a\n\n  b  \n", "  a\n\n  b  "),
        ("\n\na\n\n", "\na\n"),
        ('"quoted" & &amp; \\n', '"quoted" & &amp; \\n'),
        ("a < b > c </div> <function> <parameter>", "a < b > c </div> <function> <parameter>"),
        ("std::vector<function<void()>>", "std::vector<function<void()>>"),
    ],
)
def test_text_is_kept_but_for_one_newline_at_each_end(shown: str, value: str) -> None:
    assert calls(terminal(f"<parameter=command>{shown}</parameter>")) == [("terminal", {"command": value})]


def test_values_are_of_the_types_in_the_schema() -> None:
    said = """<function=file_editor>
<parameter=command>view</parameter>
<parameter=path>5</parameter>
<parameter=view_range>[1, 20,]</parameter>
<parameter=insert_line>
7
</parameter>
<parameter=file_text>null</parameter>
</function>"""
    assert calls(said) == [
        ("file_editor", {"command": "view", "path": "5", "view_range": [1, 20], "insert_line": 7, "file_text": "null"})
    ]
    flag = "<parameter=is_input>True</parameter>\n<parameter=timeout>soon</parameter>"
    assert calls(terminal(flag)) == [("terminal", {"is_input": True, "timeout": "soon"})]


def test_closing_tags_may_be_left_out_where_only_one_reading_is_left() -> None:
    body = "<parameter=command>view\n  <parameter=path>/x\n<parameter=view_range>\n[1, 2]\n<parameter=insert_line>1\n"
    said = f"<function=file_editor>\n{body}</function>"
    assert calls(said) == [("file_editor", {"command": "view", "path": "/x", "view_range": [1, 2], "insert_line": 1})]
    same_line = "<function=terminal><parameter=timeout>5<parameter=command>ls</parameter></function>"
    assert calls(same_line) == [("terminal", {"timeout": 5, "command": "ls"})]


@pytest.mark.parametrize(
    "content",
    [
        "<function=terminal>\n<parameter=command>rm -r x</parameter>\n</function>",
        "Write <parameter=command>ls</parameter> so.",
        '<config>\n  <parameter name="a">1</parameter>\n  <parameter name="b">2</parameter>\n</config>',
        '<tool_call>{"name": "x"}</tool_call>',
        "<parameter=path>a</parameter>",
    ],
)
def test_pairs_of_tags_in_a_value_are_part_of_it(content: str) -> None:
    said = f"<function=file_editor>\n<parameter=path>/x</parameter>\n<parameter=file_text>\n{content}\n</parameter>\n"
    for end in ("</function>", ""):
        assert calls(said + end) == [("file_editor", {"path": "/x", "file_text": content})]


def test_a_tool_by_another_name_is_read_by_its_schema() -> None:
    said = "<function=execute_bash>\n<parameter=command>5</parameter>\n<parameter=timeout>5</parameter>\n</function>"
    assert calls(said) == [("execute_bash", {"command": "5", "timeout": 5})]
    assert calls("<function=dance>\n<parameter=with>5</parameter>\n</function>") == [("dance", {"with": "5"})]


@pytest.mark.parametrize("said", ["Done.", "", "```\nx\n```", "a </function> tag", "Use Map<function>.", "<tool>"])
def test_prose_calls_nothing(said: str) -> None:
    assert complaint(said) == ""
    assert complaint(said, cut=True) == ""


def test_tags_in_prose_that_only_close_do_not_matter() -> None:
    assert calls("I fix the </parameter> tag.\n" + terminal("<parameter=command>ls</parameter>")) == [LS]


# What is not read


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("<function=>\n</function>", "<function=> names no tool"),
        ("<function=terminal\n<parameter=command>ls</parameter>", "<parameter=command> stands where no call is open"),
        ("I call <function=finish", "<function=finish has no name and > behind it"),
        ("<parameter=command>ls</parameter>\n</function>", "<parameter=command> stands where no call is open"),
        ("You may use <function=terminal> for that.", "terminal is not closed by </function>"),
        (terminal("ls"), "text outside of its parameters: 'ls'"),
        (
            terminal("<parameter=cmd>ls</parameter>"),
            "terminal has no parameter 'cmd'; its parameters are: command, is_in",
        ),
        (terminal("<parameter=>ls</parameter>"), "terminal has no parameter ''"),
        (terminal("<parameter=command>a</parameter>\n<parameter=command>b</parameter>"), "given 'command' twice"),
        (
            terminal("<parameter=command>a</parameter> and <parameter=timeout>5</parameter>"),
            "outside of its parameters",
        ),
        ("<function=terminal>\n<parameter=command>ls", "the value of 'command' is not closed"),
        ("<function=terminal>\n<parameter=command>ls\n<parameter=timeout>5</parameter>\n", "not closed by </function>"),
        (terminal("<parameter=command>find('</parameter>')</parameter>"), "outside of its parameters"),
        (terminal("<parameter=command>echo <parameter=timeout> x</parameter>"), "it is not plain where it ends"),
        (terminal("<parameter=command>\na\n<parameter=timeout>5</parameter>"), "it is not plain where it ends"),
        (terminal("<parameter=command>x = '<tool_call>'</parameter>"), "it is not plain where it ends"),
        ("<tool_call>terminal: ls</tool_call>", "no JSON follows"),
        ('<tool_call>{"name": "terminal", "arguments": {"command": "l', "does not end"),
        ('<tool_call>{"name": terminal}</tool_call>', "is not valid"),
        ('<tool_call>{"tool": "terminal"}</tool_call>', "an object with a name and arguments"),
        ('<tool_call>{"name": ""}</tool_call>', "an object with a name and arguments"),
        ("<tool_call>[1]</tool_call>", "an object with a name and arguments"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_right_form(said: str, why: str) -> None:
    told = complaint(said)
    assert why in told
    assert "<function=NAME>" in told
    assert '<tool_call>{"name"' in told


@pytest.mark.parametrize(
    "content",
    [
        "</parameter>\n</function>\nand more",
        "</parameter>\n</function>\n<function=finish>\n</function>\nand more",
        "a\n</parameter>\n<parameter=command>\nb",
        "</parameter>\n</function>\n<function=>",
    ],
)
def test_a_call_that_a_tag_in_its_value_may_have_ended_is_not_run(content: str) -> None:
    """Half a file is worse than none."""
    assert complaint(terminal(f"<parameter=command>{content}</parameter>"))
    before = '<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}</tool_call>\n'
    parsed = parse(before + terminal(f"<parameter=command>{content}</parameter>"), TOOLS)
    assert [call.name for call in parsed.calls] == ["terminal"]
    assert parsed.complaint is not None


def test_calls_before_one_that_cannot_be_read_are_run_and_none_after_it() -> None:
    good, bad = terminal("<parameter=command>ls</parameter>"), terminal("<parameter=cmd>rm -r x</parameter>")
    parsed = parse(f"I look.\n{good}\n{bad}\n{good}", TOOLS)
    assert [call.name for call in parsed.calls] == ["terminal"]
    assert parsed.thought == f"I look.\n\n{bad}\n{good}"
    assert parsed.complaint is not None
    assert "The calls before it are run." in parsed.complaint


@pytest.mark.parametrize(
    "call",
    [
        terminal("<parameter=command>\ncat > x <<E\n1\n2\nE\n</parameter>\n<parameter=timeout>5</parameter>"),
        terminal("<parameter=command>a <parameter=timeout>5</parameter> b</parameter>"),
        '<tool_call>{"name": "terminal", "arguments": {"command": "cat > x <<E\\n1\\n</function>"}}',
    ],
)
def test_a_call_that_was_cut_never_runs(call: str) -> None:
    whole = terminal("<parameter=command>ls</parameter>")
    for length in range(2, len(call)):
        assert complaint(call[:length], cut=True) == CUT, call[:length]
        parsed = parse(f"{whole}\n{call[:length]}", TOOLS, cut=True)
        assert len(parsed.calls) == 1
        assert parsed.complaint == f"{CUT} The calls before it are run."
    assert len(calls(call, cut=True)) == 1


def test_prose_that_was_cut_after_a_call_may_be_the_call() -> None:
    """A value that quotes what closes a call looks like this when it is cut."""
    assert complaint(f"{terminal('<parameter=command>ls</parameter>')} and mo", cut=True) == CUT
    assert calls('<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}</tool_call> and mo', cut=True) == [LS]


# The way there and back

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PIECES = st.lists(
    st.sampled_from(
        [
            "<function=terminal>",
            "<parameter=command>",
            "</parameter>",
            "</function>",
            "<tool_call>",
            "</tool_call>",
            "\n",
        ]
        + ["<parameter name='x'>", "<function=", "```", " ", "a", "\\", '"', "{", "}", "<", ">", "\r\n", "True", "5"]
    ),
    max_size=12,
).map("".join)
KEYS = st.sampled_from([*"abcdef", "A", "a b", "a>", "", "other"]) | st.text(max_size=5)
SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}}},
    {
        "type": "object",
        "properties": {"a": {"type": "array"}, "b": {"type": "object"}, "c": {}},
        "additionalProperties": True,
    },
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"type": "number"}}},
    {"type": "object"},
)
LOOKS = tuple(
    ToolDefinition(name=name, description="Looks.", parameters=msgspec.Raw(msgspec.json.encode(schema)))
    for name, schema in zip(("one", "two", "three", "four"), SCHEMAS, strict=True)
)
NAMES = st.sampled_from(["one", "two", "three", "four", "Two", "none", "", "a>b", "a b"]) | st.text(max_size=5)
CALL = st.tuples(NAMES.filter(bool), st.dictionaries(KEYS, VALUE | PIECES, max_size=4))


@given(st.lists(CALL, max_size=4), st.booleans())
def test_what_is_rendered_is_read_back(wanted: list[tuple[str, dict[str, Any]]], cut: bool) -> None:
    """Without any exception: what tags cannot hold is rendered as JSON."""
    sent = [ToolCall("x", name, msgspec.json.encode(arguments).decode()) for name, arguments in wanted]
    parsed = parse(rendered(sent, LOOKS), LOOKS, cut=cut)
    assert parsed.complaint is None
    assert parsed.thought == ""
    assert [(call.name, msgspec.json.encode(msgspec.json.decode(call.arguments))) for call in parsed.calls] == [
        (name, msgspec.json.encode(arguments)) for name, arguments in wanted
    ]


@given(st.dictionaries(st.sampled_from(["command", "path", "file_text"]), st.text() | PIECES, min_size=1), st.data())
def test_no_part_of_a_call_runs_as_a_whole(arguments: dict[str, str], data: st.DataObject) -> None:
    whole = rendered([ToolCall("x", "file_editor", msgspec.json.encode(arguments).decode())], TOOLS)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for cut in (True, False):
        for call in parse(part, TOOLS, cut=cut).calls:  # only what closes a call may be missing
            given_ = msgspec.json.decode(call.arguments)
            assert given_.items() <= arguments.items()
            assert not cut or given_ == arguments


@given(PIECES, st.booleans())
def test_no_text_makes_it_fail_and_none_is_lost(said: str, cut: bool) -> None:
    parsed = parse(said, TOOLS, cut=cut)
    assert parsed.calls or parsed.thought == said


@given(PIECES)
def test_a_value_in_tags_is_whole_or_refused(content: str) -> None:
    """Whatever stands in it, written as a model would: what runs is what was meant.

    Except for a value that closes what it did not open and then opens something, as if it were a call itself.
    """
    assume(not _closes_then_opens(content))
    before = "<function=file_editor>\n<parameter=path>/x</parameter>\n<parameter=file_text>\n"
    said = f"{before}{content}\n</parameter>\n</function>"
    parsed = parse(said, TOOLS)
    for call in parsed.calls:
        assert msgspec.json.decode(call.arguments) == {"path": "/x", "file_text": content}
    assert parsed.complaint is not None or len(parsed.calls) == 1


def _closes_then_opens(content: str) -> bool:
    opened = 0
    for closing in re.findall(r"<(/?)(?:function(?:=\w+)?|parameter(?:=\w+| name='x')?|tool_call)>", content):
        if opened < 0 and not closing:
            return True
        opened += -1 if closing else 1
    return False


@pytest.mark.parametrize(
    "piece", ["<function=a>", "<parameter=a>", "<function=a><parameter=b>x", "<", "```", "<tool_call>"]
)
def test_it_takes_time_in_proportion(piece: str) -> None:
    assert within(2.5, lambda: parse(piece * 10_000, TOOLS))
    assert within(2.5, lambda: parse("<function=a>" + piece * 10_000, TOOLS))


# The conversation


def conversation() -> list[Message]:
    call = ToolCall("c1", "terminal", '{"command":"ls\\n-l","timeout":5.0}')
    other = ToolCall("c2", "think", '{"thought":"</parameter>"}')
    image = ImageContent("data:image/png;base64,AAAA")
    return [
        Message("system", text("You are a test.")),
        Message("user", text("Go.")),
        Message("assistant", text("I look."), (call,), reasoning="Hm."),
        Message("tool", text("a.txt"), tool_call_id="c1"),
        Message("assistant", (), (call, other)),
        Message("tool", (*text("noted"), image), tool_call_id="c2"),
        Message("tool", text("a.txt"), tool_call_id="c1"),
        Message("assistant", text("Done.")),
    ]


def test_a_conversation_in_text() -> None:
    made = prompted(conversation(), TOOLS)
    assert [message.role for message in made] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "user",
        "assistant",
    ]
    assert all(not message.tool_calls and message.tool_call_id is None for message in made)
    assert plain(made[0].content) == f"You are a test.\n\n{describe(TOOLS)}"
    ls = terminal("<parameter=command>\nls\n-l\n</parameter>\n<parameter=timeout>5.0</parameter>")
    assert plain(made[2].content) == f"I look.\n{ls}"
    assert made[2].reasoning == "Hm."
    assert plain(made[3].content) == "Result of terminal:\na.txt"
    json = '<tool_call>\n{"name":"think","arguments":{"thought":"</parameter>"}}\n</tool_call>'
    assert plain(made[4].content) == f"{ls}\n{json}"
    assert plain(made[5].content) == "Result of think (call 2):\nnoted\n[image]"
    assert made[5].content[-1] == ImageContent("data:image/png;base64,AAAA")
    assert plain(made[6].content) == "Result of terminal (call 1):\na.txt"


def test_without_tools_or_a_system_prompt() -> None:
    user = Message("user", text("Go."))
    assert prompted([], TOOLS) == []
    assert prompted([user], ()) == [user]
    assert prompted([user], TOOLS) == [Message("system", (TextContent(describe(TOOLS)),)), user]
    (lost,) = prompted([Message("tool", text("x"), tool_call_id="gone")], ())
    assert plain(lost.content) == "Result of a tool:\nx"


@given(histories())
def test_a_longer_conversation_begins_with_the_shorter_one(events: list[Event]) -> None:
    state, before, seen = State(), list[Message](), list[Message]()
    for event in events:
        state = apply(state, event)
        if type(event).__name__ != "ModelCallStarted":
            continue
        messages = to_messages(samples.look_up(state.branch.view, events))
        made = prompted(messages, TOOLS)
        if messages[: len(seen)] == seen:  # unless it was rewound or condensed
            assert made[: len(before)] == before
        before, seen = made, messages
