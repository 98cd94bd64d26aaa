"""`Hook`: what can work, which tools it is for, and reading a hooks.json."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.specs.hooks import Hook, HookEvent, hooks_for, hooks_from_json

pytestmark = pytest.mark.pure

BEFORE = HookEvent.BEFORE_TOOL


def hook(matcher: str, event: HookEvent = BEFORE) -> Hook:
    return Hook(event=event, command="true", matcher=matcher)


@pytest.mark.parametrize(
    ("matcher", "name", "expected"),
    [
        ("*", "terminal", True),
        ("terminal", "terminal", True),
        ("terminal", "terminal_2", False),
        ("term", "terminal", False),
        ("file_.*|terminal", "file_editor", True),
        ("file_.*|terminal", "terminal", True),
        ("file_.*|terminal", "my_file_editor", False),
        ("/file_.*|terminal/", "file_editor", True),
        ("/term/", "terminal", False),
        ("/", "terminal", False),
        ("a.b", "a.b", True),
    ],
)
def test_a_matcher_is_held_against_the_whole_name(matcher: str, name: str, expected: bool) -> None:
    assert bool(hooks_for([hook(matcher)], BEFORE, name)) is expected


@given(st.text("abyzAZ019_-", min_size=1))
def test_every_name_of_a_tool_matches_itself(name: str) -> None:
    assert hooks_for([hook(name)], BEFORE, name)
    assert not hooks_for([hook(name)], BEFORE, name + "x")


@pytest.mark.parametrize("event", [one for one in HookEvent if "tool" not in one])
def test_where_there_is_no_tool_there_is_nothing_to_match(event: HookEvent) -> None:
    assert hooks_for([hook("terminal", event)], event)


def test_those_of_an_event_come_in_their_order() -> None:
    first, other, last = hook("*"), hook("*", HookEvent.AFTER_TOOL), hook("terminal")
    assert hooks_for([first, other, last], BEFORE, "terminal") == (first, last)
    assert hooks_for([first, other, last], HookEvent.STOP) == ()
    assert hooks_for([], BEFORE, "terminal") == ()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "either a command or a function"),
        ({"command": "a", "function": "b"}, "either a command or a function"),
        ({"command": ""}, "is empty"),
        ({"command": "a", "timeout": 0}, "more than 0 seconds"),
        ({"command": "a", "timeout": float("nan")}, "a finite number"),
        ({"command": "a", "timeout": float("inf")}, "a finite number"),
        ({"command": "a", "matcher": "file_("}, "write '\\*' for every tool"),
        ({"command": "a", "matcher": "/file_(/"}, "not a regular expression"),
        ({"command": "a", "matcher": "a{99999999999}"}, "not a regular expression"),
    ],
)
def test_what_cannot_work_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Hook(event=BEFORE, **fields)


def test_what_cannot_work_is_refused_also_from_json() -> None:
    with pytest.raises(msgspec.ValidationError, match="not a regular expression"):
        msgspec.json.decode(b'{"event": "stop", "command": "a", "matcher": "("}', type=Hook)


PRE = [{"matcher": "terminal", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 5}]}]


@pytest.mark.parametrize("name", ["PreToolUse", "pre_tool_use", "before_tool"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_file_in_each_spelling(name: str, wrapped: bool) -> None:
    data: dict[str, Any] = {name: PRE}
    read = hooks_from_json({"description": "checks", "hooks": data} if wrapped else data)
    assert read == (Hook(event=BEFORE, command="./check.sh", matcher="terminal", timeout=5.0),)


def test_a_file_has_all_events_and_keeps_their_order() -> None:
    names = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"]
    read = hooks_from_json({name: [{"hooks": [{"command": name + "1"}, {"command": name + "2"}]}] for name in names})
    events = ["before_tool", "after_tool", "user_message", "start", "end", "stop"]
    assert [one.command for one in read] == [f"{name}{number}" for name in names for number in (1, 2)]
    assert [one.event.value for one in read] == [event for event in events for _ in range(2)]
    assert {one.timeout for one in read} == {60.0}


def test_an_empty_matcher_of_a_file_is_for_every_tool() -> None:
    (read,) = hooks_from_json({"PreToolUse": [{"matcher": "", "hooks": [{"command": "a", "on_failure": "ignore"}]}]})
    assert read == Hook(event=BEFORE, command="a", on_failure="ignore")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ({"type": "http", "url": "x"}, "type 'http' cannot be run: write a command, prompt, agent"),
        ({"type": "agent", "max_iterations": 3}, "is empty"),
        ({"type": "command"}, "is empty"),
        ({"command": "a", "async": True}, "remove 'async'"),
        ({"command": "a", "if": "Bash(git *)"}, "unknown field `if`"),
        ({"command": 1}, "Expected `str`"),
    ],
)
def test_a_hook_of_a_file_that_cannot_be_run_is_refused(one: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        hooks_from_json({"PreToolUse": [{"hooks": [one]}]})


def test_an_event_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no hooks run at 'Notification': hooks run at before_tool, after_tool"):
        hooks_from_json({"Notification": []})


@pytest.mark.parametrize("data", [None, [], {"Stop": {}}, {"Stop": [{}]}, {"hooks": "x"}])
def test_what_is_no_file_of_hooks_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        hooks_from_json(data)
