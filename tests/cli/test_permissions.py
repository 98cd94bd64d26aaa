"""Permission rules as a person writes and reads them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.cli.permissions import rule_for, rule_from, rule_words
from agentrt.decisions.permissions import matches, remembering
from agentrt.specs import PermissionRule
from agentrt.specs.rules import Verdict
from agentrt.tools import tool
from tests import samples

pytestmark = pytest.mark.pure


@tool(same="place")
async def look(place: str) -> str:
    """Look."""
    return place


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("git push*", PermissionRule("deny", "terminal", "git push*", "command")),
        ("terminal:git push*", PermissionRule("deny", "terminal", "git push*", "command")),
        ("terminal", PermissionRule("deny", "terminal")),
        ("file_editor:/etc/*", PermissionRule("deny", "file_editor", "/etc/*", "path")),
        ("*:secret*", PermissionRule("deny", "*", "secret*")),
        ("curl http://*", PermissionRule("deny", "terminal", "curl http://*", "command")),
        ("*", PermissionRule("deny", "terminal")),
        ("*:*", PermissionRule("deny")),
        ("delegate", PermissionRule("deny", "delegate")),
        ("look", PermissionRule("deny", "look")),
        ("look:/etc/*", PermissionRule("deny", "look", "/etc/*", "place")),
    ],
)
def test_a_rule_is_written_with_or_without_its_tool(written: str, rule: PermissionRule) -> None:
    assert rule_from("deny", written, [look]) == rule


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "docker:x",
            "unknown tool 'docker' (known: terminal, file_editor, ",
        ),
        ("", "'' has no pattern"),
        ("terminal:", "'terminal:' has no pattern"),
        ("!!", "'!!' has no pattern"),
        ("terminal:;;*", "'terminal:;;*' has no pattern"),
        (":x", "':x' names no tool before the colon: write one such as 'terminal:x'"),
        ("web_serch", "did you mean 'web_search'? For a command write 'terminal:web_serch'"),
    ],
)
def test_what_would_hold_for_nothing_is_refused(written: str, said: str) -> None:
    with pytest.raises(ValueError, match="write") as refused:
        rule_from("deny", written)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (rule_for("allow", "file_editor"), "allow file_editor"),
        (rule_for("ask", "*", "x*"), 'ask every tool, any argument like "x*"'),
        (rule_for("deny", "web_*"), "deny tools like web_*"),
        (rule_for("allow", "terminal", "make test"), 'allow terminal, command "make test"'),
        (rule_for("allow", "terminal", "ls [*]"), 'allow terminal, command "ls *"'),
        (rule_for("allow", "terminal", "ls [*] ?"), 'allow terminal, command like "ls [*] ?"'),
        (rule_for("allow", "terminal", "ls [ab]"), 'allow terminal, command like "ls [ab]"'),
    ],
)
def test_a_rule_in_words(rule: PermissionRule, words: str) -> None:
    assert rule_words(rule) == words


@given(st.text())
def test_what_an_answer_remembers_is_shown_as_the_command_that_it_is(command: str) -> None:
    """So nobody allows a pattern who saw a command."""
    arguments = msgspec.Raw(msgspec.json.encode({"command": command}))
    action = replace(samples.action(), arguments_json=arguments)
    tool = samples.definition(action.tool_name)
    rule = remembering(action, tool)
    assert matches(rule, action, tool)
    assert rule_words(rule) == f'allow terminal, command "{command}"'


@given(st.sampled_from(["allow", "ask", "deny"]), st.text(min_size=1))
def test_whatever_is_written_is_a_rule_or_an_error(verdict: Verdict, written: str) -> None:
    try:
        rule = rule_from(verdict, written)
    except ValueError:
        return
    assert rule.verdict == verdict
    assert rule_words(rule).startswith(verdict)
