"""Which actions a rule is about, which rule counts, and what is remembered."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.decisions import AssessRisk, Refuse, RequestConfirmation, RunHooks, decide, permissions
from agentrt.decisions.permissions import asked, heard, ruling
from agentrt.events import ActionEvent, RuleAdded, UserRejectObservation
from agentrt.specs import Agent, AlwaysConfirm, ConfirmRisky, HookEvent, InformationFlow, PermissionRule, SecurityRisk
from agentrt.specs.policies import asks
from agentrt.specs.rules import Verdict
from agentrt.specs.tool import Same
from agentrt.state import Pending, State
from agentrt.tools import ToolType, tool
from tests import samples
from tests.decisions.states import after, call, calls, hooked, then, with_hooks

pytestmark = pytest.mark.pure

ALLOW_GIT = PermissionRule("allow", "terminal", "git *", "command")
SEPARATORS = (";", "&", "&&", "|", "||", "\n", "`", "$(", "${", "<(", ">", ">>", "<", "(", "{", "\\\n")


def matches(rule: PermissionRule, action: ActionEvent) -> bool:
    return permissions.matches(rule, action, samples.definition(action.tool_name))


def remembering(action: ActionEvent) -> PermissionRule:
    return permissions.remembering(action, samples.definition(action.tool_name))


def strongest(rules: Iterable[PermissionRule], action: ActionEvent) -> PermissionRule | None:
    return permissions.strongest(rules, action, samples.definition(action.tool_name))


def runs(rule: PermissionRule, command: str) -> bool:
    return matches(rule, call(command=command))


@pytest.mark.parametrize(
    "command", ["git status", "git log --oneline -3", "git commit -m 'a message'", "git diff a..b"]
)
def test_a_pattern_that_allows_commands_allows_one_command(command: str) -> None:
    assert runs(ALLOW_GIT, command)


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_a_pattern_that_allows_does_not_reach_over_into_another_command(verdict: Verdict, separator: str) -> None:
    rule = replace(ALLOW_GIT, verdict=verdict)
    assert runs(rule, f"git status {separator} rm x") is (verdict != "allow")
    assert runs(rule, f"git status{separator}rm x") is False or verdict != "allow"


@given(st.text(), st.sampled_from(SEPARATORS), st.text())
def test_no_text_with_a_separator_in_its_free_part_is_allowed(before: str, separator: str, rest: str) -> None:
    assert not runs(ALLOW_GIT, f"git {before}{separator}{rest}")
    assert not runs(replace(ALLOW_GIT, pattern="git ?????*"), f"git {before}{separator}{rest}")


@pytest.mark.parametrize(
    ("rule", "arguments", "held"),
    [
        (PermissionRule("deny", "terminal"), {}, True),
        (PermissionRule("deny", "term*"), {}, True),
        (PermissionRule("deny", "Terminal"), {}, False),
        (PermissionRule("deny", "look"), {}, False),
        (PermissionRule("deny", "*", "*secret*"), {"command": "ls", "note": "a secret"}, True),
        (PermissionRule("allow", "*", "*secret*"), {"command": "ls", "note": "a secret"}, False),
        (PermissionRule("allow", "*", "*secret*"), {"command": "secret", "note": "a secret"}, True),
        (PermissionRule("allow", "*", "ls", "command"), {"command": "ls", "note": "rm x"}, True),
        (PermissionRule("allow", "*", "ls"), {"command": "ls", "timeout": 5}, True),
        (PermissionRule("allow", "*", "ls"), {"timeout": 5}, False),
        (PermissionRule("deny", "*", "rm *", "command"), {"command": "rm a\nrm b"}, True),
        (PermissionRule("deny", "*", "rm *", "command"), {"path": "rm x"}, False),
        (PermissionRule("ask", "*", "rm *"), {"command": ["rm x"]}, True),
        (PermissionRule("deny", "*", "*production*"), {"targets": ["production"]}, True),
        (PermissionRule("deny", "*", "*production*"), {"opts": {"env": "production"}, "n": 1}, True),
        (PermissionRule("allow", "*", "staging*"), {"target": "staging", "extra": ["production"]}, False),
        (PermissionRule("allow", "*", "staging*"), {"target": "staging", "extra": ["staging-2"], "n": 1}, True),
        (
            PermissionRule("allow", "terminal", "bash x.sh", "command"),
            {"command": "bash x.sh", "is_input": True},
            False,
        ),
        (PermissionRule("deny", "terminal", "*x.sh", "command"), {"command": "bash x.sh", "is_input": True}, True),
        (PermissionRule("deny", "*", "/etc/*", "path"), {"path": "//etc/x"}, True),
        (PermissionRule("allow", "*", "*", "command"), {"command": "ls; rm x"}, False),
        (PermissionRule("allow", "*", "*", "command"), {"command": "ls -la"}, True),
        (PermissionRule("allow", "*", "l?"), {"command": "ls"}, True),
        (PermissionRule("allow", "*", "l?"), {"command": "l;"}, False),
    ],
)
def test_one_that_allows_must_match_all_that_it_is_about(
    rule: PermissionRule, arguments: dict[str, Any], held: bool
) -> None:
    assert matches(rule, call(**arguments)) is held


def test_of_several_rules_the_one_that_says_no_counts() -> None:
    allow, ask, deny = (PermissionRule(verdict, "terminal") for verdict in ("allow", "ask", "deny"))
    other = PermissionRule("deny", "look")
    action = call(command="ls")
    assert strongest((allow, ask, deny, other), action) == deny
    assert strongest((allow, ask, other), action) == ask
    assert strongest((other, allow), action) == allow
    assert strongest((other,), action) is None


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("terminal", {"command": "ls -l"}, PermissionRule("allow", "terminal", "ls -l", "command")),
        ("terminal", {"command": "rm *"}, PermissionRule("allow", "terminal", "rm [*]", "command")),
        (
            "file_editor",
            {"command": "create", "path": "/a/[b].py"},
            PermissionRule("allow", "file_editor", "/a/[[]b].py", "path"),
        ),
        ("look", {"n": 3}, PermissionRule("allow", "look")),
        (
            "file_editor",
            {"path": "/a/b", "command": "view"},
            PermissionRule("allow", "file_editor", '{"command":"view","path":"/a/b"}', "{}"),
        ),
        (
            "terminal",
            {"is_input": True, "command": "y"},
            PermissionRule("allow", "terminal", '{"command":"y","is_input":true}', "{}"),
        ),
    ],
)
def test_what_is_remembered_is_the_command_the_file_or_the_tool(
    name: str, arguments: dict[str, Any], rule: PermissionRule
) -> None:
    assert remembering(call(name, **arguments)) == rule


@tool
async def note(file_path: str, text: str = "") -> str:
    """Write."""
    return text


@tool(same=Same("target", {"mode": "view"}))
async def edit(target: str, mode: str = "view", text: str = "") -> str:
    """Edit."""
    return text


@tool
async def lookup(words: str) -> str:
    """Look up."""
    return words


def rule_of(kind: ToolType, **arguments: Any) -> PermissionRule:
    return permissions.remembering(call(kind.name, **arguments), kind.definition)


def test_a_tool_that_does_not_say_what_is_the_same_is_remembered_whole_where_it_touches_something() -> None:
    assert rule_of(note, file_path="notes") == PermissionRule("allow", "note", '{"file_path":"notes"}', "{}")
    assert rule_of(note, text="x").argument == "{}", "its next call may name a file"
    assert rule_of(lookup, words="x") == PermissionRule("allow", "lookup")
    for words in ("/etc/hostname", "https://example.com/", "~/notes"):
        assert rule_of(lookup, words=words).argument == "{}"


def test_what_an_argument_is_that_was_left_out_counts() -> None:
    seen = rule_of(edit, target="/etc/passwd")
    assert seen == PermissionRule("allow", "edit", '{"target":"/etc/passwd"}', "{}")
    assert not permissions.matches(seen, call("edit", target="/etc/passwd", mode="write"), edit.definition)
    assert rule_of(edit, target="/a", mode="write") == PermissionRule("allow", "edit", "/a", "target")


@pytest.mark.parametrize("said", [True, "true", "1", 1])
def test_a_command_that_may_be_run_may_not_be_typed_however_that_is_said(said: object) -> None:
    rule = remembering(call(command="echo ok"))
    assert matches(rule, call(command="echo ok", is_input=False))
    assert not matches(rule, call(command="echo ok", is_input=said))
    assert remembering(call(command="echo ok", is_input=said)).argument == "{}"


def test_to_look_always_is_no_leave_to_write_and_to_type_none_to_run() -> None:
    seen = remembering(call("file_editor", command="view", path="/a/b"))
    assert matches(seen, call("file_editor", path="/a/b", command="view"))
    assert not matches(seen, call("file_editor", command="create", path="/a/b", file_text="x"))
    typed = remembering(call(command="y", is_input=True))
    assert matches(typed, call(command="y", is_input=True))
    assert not matches(typed, call(command="y"))


@pytest.mark.parametrize(
    ("rule", "path", "held"),
    [
        (PermissionRule("allow", "file_editor", "*/src/*", "path"), "/w/src/a.py", True),
        (PermissionRule("allow", "file_editor", "*/src/*", "path"), "/w/src/../../.bashrc", False),
        (PermissionRule("allow", "file_editor", "/w/*", "path"), "/w/../.bashrc", False),
        (PermissionRule("deny", "file_editor", "/w/secret/*", "path"), "/w/./secret/a", True),
        (PermissionRule("deny", "file_editor", "/w/secret/*", "path"), "/w//secret/a", True),
        (PermissionRule("deny", "file_editor", "/w/secret/*", "path"), "/w/x/../secret/a", True),
    ],
)
def test_a_path_is_where_it_leads(rule: PermissionRule, path: str, held: bool) -> None:
    assert matches(rule, call("file_editor", command="create", path=path, file_text="x")) is held


@given(st.text(min_size=1), st.text(min_size=1))
@example("rm [*]", "rm x")
@example("a[!b]", "ac")
@example("ls; rm x", "ls")
def test_what_is_remembered_is_about_this_and_nothing_else(command: str, other: str) -> None:
    rule = remembering(call(command=command))
    assert runs(rule, command)
    assert runs(rule, other) is (other == command)
    assert not matches(rule, call("look", command=command))


# Who is asked


def pending(name: str = "terminal", **more: Any) -> Pending:
    return Pending(call(name, command="ls"), **more)


def why(state: State, pending: Pending) -> str | None:
    return asked(state, pending, ruling(state, pending.action))


def with_rules(*rules: PermissionRule, **more: Any) -> Agent:
    return replace(samples.agent(), rules=rules, **more)


def test_reasons_are_looked_for_in_this_order() -> None:
    spec = replace(
        with_rules(PermissionRule("ask", "terminal")), confirmation=AlwaysConfirm(), analyzer="rules",
        flow=InformationFlow(),
    )  # fmt: skip
    state = after(spec=spec)
    high = SecurityRisk.HIGH
    assert why(state, pending(risk=high, causes=("web",), sinks=("network",), asked=True)) == "flow:web>network"
    assert why(state, pending(risk=high, causes=("web",), asked=True)) == "hook"
    assert why(state, pending(risk=high)) == "rule"
    assert why(state, pending("look", risk=high)) == "every"
    assert why(state, pending("finish", risk=high)) is None
    assert why(state, pending(risk=high, approved=True)) is None


def test_untrusted_content_asks_at_the_sinks_that_the_policy_names_and_where_nobody_knows_the_sink() -> None:
    state = after(spec=replace(samples.agent(), flow=InformationFlow(("web",), ("network",))))
    low = SecurityRisk.LOW
    assert why(state, pending(risk=low, causes=("web",), sinks=("secrets",))) is None
    assert why(state, pending(risk=low, causes=("outside",), sinks=("network",))) is None
    assert why(state, pending(risk=SecurityRisk.UNKNOWN, causes=("web",))) == "flow:web>unknown"
    assert why(state, pending("think", risk=SecurityRisk.UNKNOWN, causes=("web",))) is None
    allowed = then(state, RuleAdded(rule=PermissionRule("allow", "terminal")))
    assert why(allowed, pending(risk=low, causes=("web",), sinks=("network",))) == "flow:web>network"


def test_a_rule_that_allows_comes_before_the_policy_and_not_before_a_hook() -> None:
    spec = replace(with_rules(PermissionRule("allow", "terminal")), analyzer="rules", confirmation=AlwaysConfirm())
    state = after(spec=spec)
    assert why(state, pending(risk=SecurityRisk.HIGH)) is None
    assert why(state, pending(risk=SecurityRisk.HIGH, asked=True)) == "hook"


def test_an_action_that_a_rule_denies_is_refused_before_it_is_rated() -> None:
    spec = replace(with_rules(PermissionRule("deny", "terminal", "ls", "command")), analyzer="rules")
    one, two = call(command="ls"), call("look", "b", command="ls")
    state = after(*calls(one, two), spec=spec)
    assert ruling(state, one) == spec.rules[0]
    (due,) = decide(state)
    assert isinstance(due, Refuse)
    assert (due.action.id, due.reason.split(".")[0]) == ("a", "A rule denies terminal with command like ls")
    refused = UserRejectObservation(action_id="a", tool_name="terminal", tool_call_id="call_1")
    (rating,) = decide(then(state, refused))
    assert isinstance(rating, AssessRisk)


def test_hooks_see_an_action_before_rules_and_ratings_do() -> None:
    spec = replace(
        with_hooks(HookEvent.BEFORE_TOOL), rules=(PermissionRule("deny", "terminal"),), analyzer="rules",
        confirmation=ConfirmRisky(),
    )  # fmt: skip
    state = after(*calls(call(command="ls")), spec=spec)
    assert not heard(state, state.branch.pending[0])
    assert isinstance(decide(state)[0], RunHooks)
    state = then(state, hooked(HookEvent.BEFORE_TOOL, "a"))
    assert heard(state, state.branch.pending[0])
    assert isinstance(decide(state)[0], Refuse)


@pytest.mark.parametrize("risk", list(SecurityRisk))
def test_nothing_is_below_the_unknown(risk: SecurityRisk) -> None:
    assert asks(ConfirmRisky(SecurityRisk.UNKNOWN, confirm_unknown=False), risk)


def test_a_hook_can_ask_where_no_policy_does() -> None:
    state = after(*calls(call(command="ls")), spec=with_hooks(HookEvent.BEFORE_TOOL))
    (due,) = decide(then(state, hooked(HookEvent.BEFORE_TOOL, "a", "ask")))
    assert isinstance(due, RequestConfirmation)
    assert due.reasons == (("a", "hook"),)


@pytest.mark.parametrize("pattern", ["git * *", "*a*a*a*a*b", "* * * * x"])
def test_a_pattern_that_allows_takes_linear_time(pattern: str) -> None:
    rule, text = PermissionRule("allow", "terminal", pattern, "command"), "git a " + "a " * 30_000 + ";"
    begun = time.process_time()
    assert not runs(rule, text)
    assert time.process_time() - begun < 0.5  # quadratic time would be minutes


@given(st.text("ab;*?[]", max_size=9), st.text("aab;*", max_size=9))
def test_a_pattern_that_allows_matches_what_its_stars_say(pattern: str, text: str) -> None:
    one = r"[^;&|<>$`\n(){}\\]*"
    kinds = {"*": one, "?": one[:-1]}
    pieces = re.split(r"(\[.\]|\*|\?)", pattern)
    plain = [kinds.get(p) or re.escape(p[1] if len(p) == 3 and p[0] == "[" else p) for p in pieces]
    expected = re.fullmatch("".join(plain), text, re.DOTALL) is not None
    assert runs(PermissionRule("allow", "terminal", pattern, "command"), text) is expected
