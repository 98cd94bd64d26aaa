"""What a command says by its exit code and its output."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.hooks.replies import KEPT, Ended, read_reply
from agentrt.specs.hooks import HookEvent

pytestmark = pytest.mark.pure

BEFORE = HookEvent.BEFORE_TOOL


def read(reply: dict[str, Any]) -> Any:
    return read_reply(BEFORE, Ended(0, msgspec.json.encode(reply), b""))


@pytest.mark.parametrize(
    ("reply", "verdict", "reason"),
    [
        ({}, "allow", ""),
        ({"decision": "allow", "reason": "fine"}, "allow", "fine"),
        ({"decision": "approve"}, "allow", ""),
        ({"decision": "ask", "reason": "sure?"}, "ask", "sure?"),
        ({"decision": "deny", "reason": "no"}, "deny", "no"),
        ({"decision": "block", "reason": "no"}, "deny", "no"),
        ({"decision": None, "unknown": 1}, "allow", ""),
        ({"continue": False, "stopReason": "no"}, "deny", "no"),
        ({"continue": False, "decision": "allow", "reason": "no"}, "deny", "no"),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, "deny", "no"),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}, "decision": "allow"}, "ask", ""),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}, "decision": "deny"}, "deny", ""),
    ],
)
def test_the_strictest_that_a_reply_says_holds(reply: dict[str, Any], verdict: str, reason: str) -> None:
    result = read(reply)
    assert (result.verdict, result.reason, result.error) == (verdict, reason, "")


@pytest.mark.parametrize("inner", [False, True])
def test_a_rewritten_input_is_kept_to_the_byte(inner: bool) -> None:
    fields = b'{"updatedInput": {"n": 1.0, "big": 12345678901234567890123}, "additionalContext": "note"}'
    output = b'{"hookSpecificOutput": ' + fields + b"}" if inner else fields
    result = read_reply(BEFORE, Ended(0, b"\n " + output + b"\n", b""))
    assert result.arguments is not None
    assert bytes(result.arguments) == b'{"n": 1.0, "big": 12345678901234567890123}'
    assert (result.context, result.error) == ("note", "")


def test_no_rewrite_where_it_is_null() -> None:
    assert read({"updatedInput": None}).arguments is None


@pytest.mark.parametrize(
    "output",
    [
        b"{",
        b'{"decision": "maybe"}',
        b'{"decision": 1}',
        b'{"decision": "deny"} and more',
        b'checking\n{"decision": "deny"}',
        b'\xef\xbb\xbf{"decision": "deny"}',
        b'\xff{"decision": "deny"}',
        b'checking\n{"updatedInput": {"command": "echo SAFE"}}',
        b'{"hookSpecificOutput": {"decision": "deny"}}',
        b'{"hookSpecificOutput": {"continue": false}}',
        b'{"permission_decision": "deny"}',
        b'{"Decision": "deny"}',
        b'{"verdict": "deny"}',
        b'[{"decision": "deny"}]',
        b'"deny"',
        b'{"continue": "no"}',
        b'{"reason": "\xff"}',
        b'{"updatedInput": {"a": "\xff"}}',
        b'{"updatedInput": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_reply_that_cannot_be_read_is_a_failure(output: bytes) -> None:
    result = read_reply(BEFORE, Ended(0, output, b""))
    assert "cannot be read" in result.error
    assert (result.arguments, result.reason) == (None, "")


@pytest.mark.parametrize(
    "output", [b"[ ] to do\n{ and so on }", b'"quoted" words', b'see {"a": 1}', b"All is well: \xc3\xbc"]
)
def test_plain_words_decide_nothing(output: bytes) -> None:
    result = read_reply(BEFORE, Ended(0, output, b""))
    assert (result.verdict, result.error) == ("allow", "")


def test_a_reply_that_was_cut_is_a_failure() -> None:
    for begins in (b"{", b"words", b"\xff"):
        assert "longer than" in read_reply(BEFORE, Ended(0, begins + b" " * KEPT, b"")).error
    assert read_reply(HookEvent.AFTER_TOOL, Ended(0, b"words" + b" " * KEPT, b"")).error == "", (
        "nothing is decided there"
    )


@pytest.mark.parametrize("event", list(HookEvent))
def test_plain_output_is_context_where_nothing_else_is_asked(event: HookEvent) -> None:
    result = read_reply(event, Ended(0, b"On branch main\n", b"a warning\n"))
    assert result.context == ("On branch main" if event in ("user_message", "start") else "")
    assert (result.verdict, result.error) == ("allow", "")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "On branch main", "a warning")


def test_exit_code_2_denies_whatever_the_output_says() -> None:
    result = read_reply(BEFORE, Ended(2, b'{"decision": "allow"}', b"not on a Friday\n"))
    assert (result.verdict, result.reason, result.error) == ("deny", "not on a Friday", "")


@given(st.integers(1, 255).filter(lambda code: code != 2), st.binary(max_size=40))
def test_every_other_exit_code_is_a_failure(code: int, output: bytes) -> None:
    assert f"exit code {code}" in read_reply(BEFORE, Ended(code, output, output)).error


@given(st.sampled_from(HookEvent), st.integers(0, 255), st.binary(max_size=200), st.binary(max_size=40))
def test_every_output_is_read(event: HookEvent, code: int, stdout: bytes, stderr: bytes) -> None:
    assert read_reply(event, Ended(code, stdout, stderr)).verdict in ("allow", "ask", "deny")
    read_reply(event, Ended(code, b"{" + stdout, stderr))
