"""What a person sees and says when asked; the terminal itself is in `test_session.py`."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.cli.asking import Approve, Quit, Refuse, Reply, explained, lines_of, reply_to
from agentrt.cli.questions import Question, asked
from agentrt.cli.wording import proposed
from agentrt.events import ConfirmationRequested, HookExecutionEvent, RiskAssessed
from agentrt.specs import HookEvent, PermissionRule, SecurityRisk
from agentrt.tools.files.edit import edit
from agentrt.tools.files.file_editor import file_editor
from agentrt.tools.files.write_file import write_file
from agentrt.tools.terminals.terminal import terminal
from tests import samples

pytestmark = pytest.mark.pure

ACTION = samples.action(id="a1")
TOOL = samples.definition("terminal")
TOOLS = {kind.name: kind.definition for kind in (terminal, file_editor, edit, write_file)}
RATED = RiskAssessed(action_id="a1", risk=SecurityRisk.HIGH, reason="lists everything")


def requested(code: str) -> ConfirmationRequested:
    return ConfirmationRequested(action_ids=("other", "a1"), reasons=("rule", code))


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("y\n", Approve()),
        (" YES ", Approve()),
        ("a", Approve("session")),
        ("p", Approve("project")),
        ("n", Refuse("The user said no.")),
        ("q", Quit()),
        ("not there, in the other one\n", Refuse("not there, in the other one")),
        ("n use Decimal", Refuse("use Decimal")),
        ("No, use Decimal", Refuse("use Decimal")),
        ("ok", None),
        ("ok then", Refuse("ok then")),
        ("y and go on", None),
        ("/help", None),
        ("/rules add deny terminal", None),
        ("y\x1b[A", None),
        ("n \x1b[A", None),
        ("", None),
        ("x", None),
    ],
)
def test_an_answer(said: str, reply: Reply | None) -> None:
    assert reply_to(said, may_always=True) == reply


def test_always_is_no_answer_where_it_would_not_hold() -> None:
    for said in ("a", "p", "always", "project"):
        assert reply_to(said, may_always=False) is None


@given(st.text())
def test_nothing_but_its_keys_approves(said: str) -> None:
    reply = reply_to(said, may_always=True)
    if isinstance(reply, Approve):
        assert said.strip().lower() in ("y", "yes", "a", "always", "p", "project")
    elif isinstance(reply, Refuse):
        assert reply.reason


def test_a_question_says_what_and_why() -> None:
    question = asked(Question(ACTION, TOOL), "", [RATED, requested("risk")])
    assert question == Question(
        ACTION,
        TOOL,
        SecurityRisk.HIGH,
        "lists everything",
        "because of its risk",
        PermissionRule("allow", "terminal", "ls", "command"),
    )
    assert [line.plain for line in lines_of(replace(question, task="tidy"))] == [
        "? terminal  $ ls",
        "  high: lists everything; asked because of its risk",
        "  in the delegated task: tidy",
        "  a and p stand for every call of terminal with this command",
        "  y once  a always here  p always in this project  n no, or n WHY  q stop",
    ]


def test_what_is_no_answer_is_answered_with_what_each_answer_does() -> None:
    question = asked(Question(ACTION, TOOL), "", [RATED, requested("risk")])
    lines = [line.plain for line in explained(question)]
    assert [line[:5] for line in lines[1:-1]] == ["  y  ", "  a  ", "  p  ", "  n  ", "  q  "]
    assert lines[-1] == lines_of(question)[-1].plain
    assert [line.plain[:5] for line in explained(replace(question, always=None))[1:-1]] == ["  y  ", "  n  ", "  q  "]


def test_the_keys_fit_on_a_terminal_of_80_columns() -> None:
    question = asked(Question(ACTION, TOOL), "", [RATED, requested("risk")])
    assert len(lines_of(question)[-1].plain) <= 80


def test_the_last_rating_and_the_hooks_reason_count() -> None:
    hook = HookExecutionEvent(hook_event=HookEvent.BEFORE_TOOL, target="a1", verdict="ask", reason="it is Friday")
    other = replace(RATED, action_id="other", reason="other")
    events = [RATED, hook, replace(RATED, reason="again"), other, requested("hook")]
    question = asked(Question(ACTION, TOOL), "", events)
    assert (question.rating, question.why) == ("again", "because a hook says so: it is Friday")
    assert question.always is None


def test_without_events_it_is_asked_for_the_reason_that_is_known() -> None:
    """As of a delegated conversation whose log cannot be read."""
    question = asked(Question(ACTION, TOOL, SecurityRisk.UNKNOWN), "flow:web>network", [])
    lines = [line.plain for line in lines_of(question)]
    assert lines[1].startswith("  unknown; asked because what the agent read on the web")
    assert lines[-1] == "  y once  n no, or n WHY  q stop"


def test_all_that_is_approved_is_seen_and_none_of_it_steers_the_terminal() -> None:
    long = replace(
        ACTION, tool_name="custom", arguments_json=msgspec.Raw(msgspec.json.encode({"x": "y" * 1000 + "end\x1b["}))
    )
    shown = lines_of(asked(Question(long, samples.definition(long.tool_name)), "risk", []))[0].plain
    assert "yend" in shown
    command = replace(ACTION, arguments_json=msgspec.Raw(msgspec.json.encode({"command": "ls \x1b]0;owned\x07"})))
    lines = [line.plain for line in lines_of(asked(Question(command, TOOL), "risk", []))]
    assert not any("\x1b" in line for line in lines)
    assert "  it has characters that cannot be shown" in lines


EDIT = replace(
    ACTION,
    tool_name="file_editor",
    arguments_json=msgspec.Raw(
        msgspec.json.encode(
            {"command": "str_replace", "path": "/w/a.py", "old_str": "x = 1\nx += 1", "new_str": "x = 2\x1b"}
        )
    ),
)


def test_a_file_that_is_to_be_edited_is_asked_about_with_the_change() -> None:
    question = asked(Question(EDIT, TOOLS["file_editor"], SecurityRisk.LOW), "every", [])
    assert [line.plain for line in lines_of(question)] == [
        "? file_editor  str_replace /w/a.py",
        "  │ -x = 1",
        "  │ -x += 1",
        "  │ +x = 2",
        "  low; asked because every action is asked about",
        "  it has characters that cannot be shown",
        "  a and p stand for every call of file_editor with this path",
        "  y once  a always here  p always in this project  n no, or n WHY  q stop",
    ]


@pytest.mark.parametrize(
    ("tool", "given", "change"),
    [
        ("file_editor", {"command": "create", "path": "a", "file_text": "1\n2\n"}, ["+1", "+2"]),
        ("file_editor", {"command": "insert", "path": "a", "insert_line": 1, "new_str": "1"}, ["+1"]),
        ("file_editor", {"command": "view", "path": "a"}, []),
        ("edit", {"file_path": "a", "old_string": "1", "new_string": "2"}, ["-1", "+2"]),
        ("write_file", {"file_path": "a", "content": "1"}, ["+1"]),
        ("terminal", {"command": "ls"}, []),
    ],
)
def test_the_change_is_where_the_tool_declares_it(tool: str, given: dict[str, object], change: list[str]) -> None:
    sent = replace(ACTION, tool_name=tool, arguments_json=msgspec.Raw(msgspec.json.encode(given)))
    assert proposed(sent, TOOLS[tool]) == change


def test_exactly_the_same_view_is_what_always_stands_for() -> None:
    view = replace(EDIT, arguments_json=msgspec.Raw(b'{"command":"view","path":"/w/a.py"}'))
    lines = lines_of(asked(Question(view, TOOLS["file_editor"]), "every", []))
    assert "  a and p stand for exactly this call of file_editor" in [line.plain for line in lines]
