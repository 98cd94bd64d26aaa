"""What holds of a result, and how several become one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.hooks import HookResult, combined
from agentrt.hooks.results import MAX_TEXT, hook_name, settled
from agentrt.specs.hooks import HookEvent
from agentrt.specs.rules import Verdict

from .samples import raw, shell

pytestmark = pytest.mark.pure

WHAT_HAPPENED = ("after_tool", "start", "end")
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")

results = st.builds(
    HookResult,
    verdict=st.sampled_from(VERDICTS),
    reason=st.sampled_from(["", "one", "two"]),
    arguments=st.sampled_from([None, raw({"n": 1}), raw({"n": 2})]),
    context=st.sampled_from(["", "note"]),
    error=st.sampled_from(["", "it broke"]),
    seconds=st.sampled_from([0.0, 0.5]),
)


@pytest.mark.parametrize("event", list(HookEvent))
def test_a_failure_denies_what_can_be_denied(event: HookEvent) -> None:
    failed = HookResult(error="it broke", arguments=raw({}), context="half a")
    result = settled(shell("./check.sh", event), failed)
    told = "hook './check.sh' failed: it broke"
    if event in WHAT_HAPPENED:
        assert (result.verdict, result.reason, result.context) == ("allow", "", told)
    else:
        assert (result.verdict, result.reason, result.context) == ("deny", told, "")
    assert (result.error, result.arguments) == ("it broke", None)


@pytest.mark.parametrize("event", list(HookEvent))
def test_a_failure_that_is_ignored_leaves_only_its_error(event: HookEvent) -> None:
    failed = HookResult(verdict="deny", error="it broke", reason="x", arguments=raw({}), context="half a")
    result = settled(shell("a", event, on_failure="ignore"), failed)
    assert result == HookResult(name="a", error="it broke")


@pytest.mark.parametrize("event", list(HookEvent))
def test_a_denial_is_context_once_it_has_happened(event: HookEvent) -> None:
    result = settled(shell("a", event), HookResult(verdict="deny", reason="tests fail", context="2 of 9"))
    if event in WHAT_HAPPENED:
        assert (result.verdict, result.reason, result.context) == ("allow", "", "tests fail\n\n2 of 9")
    else:
        assert (result.verdict, result.reason, result.context) == ("deny", "tests fail", "2 of 9")


@given(st.sampled_from(HookEvent), results)
def test_only_for_a_tool_is_a_person_asked_and_only_its_input_rewritten(event: HookEvent, found: HookResult) -> None:
    result = settled(shell("a", event), found)
    if event is not HookEvent.BEFORE_TOOL:
        assert result.verdict != "ask"
        assert result.arguments is None
    assert (result.verdict == "allow") or result.reason
    assert settled(shell("a", event), result) == result or result.error


@pytest.mark.parametrize("arguments", [b"[1]", b'"text"', b"null", b"", b"{", b'{"a": "\xff"}'])
def test_a_rewritten_input_that_is_no_object_is_a_failure(arguments: bytes) -> None:
    result = settled(shell("a"), HookResult(arguments=msgspec.Raw(arguments)))
    assert result.verdict == "deny"
    assert "not a JSON object" in result.error
    assert result.arguments is None


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "perhaps"},
        {"verdict": None},
        {"arguments": {"a": 1}},
        {"reason": 3},
        {"context": None},
        {"stdout": 3},
        {"error": 3},
    ],
)
def test_what_a_function_made_wrong_is_a_failure(fields: dict[str, Any]) -> None:
    result = settled(shell("a"), HookResult(**fields))
    assert (result.verdict, result.context) == ("deny", "")
    assert result.error


def test_texts_have_a_bound() -> None:
    long = "x" * 50_000
    found = HookResult(verdict="deny", reason=long, context=long, stdout=long, stderr=long)
    result = settled(shell("a"), found)
    for text in (result.reason, result.context, result.stdout, result.stderr):
        assert len(text) == MAX_TEXT
        assert text.endswith("[... cut: it had 50000 characters]")
    assert len(combined([result] * 9).context) == MAX_TEXT


def test_the_name_of_a_hook_is_short() -> None:
    assert hook_name(shell("\n ./check.sh --all\nexit 0\n")) == "./check.sh --all"
    assert len(hook_name(shell("x" * 500))) == 80


def test_no_results_allow() -> None:
    assert combined([]) == HookResult()


def test_the_first_denial_gives_the_reason() -> None:
    texts: list[tuple[Verdict, str]] = [("allow", ""), ("ask", "sure?"), ("deny", "one"), ("deny", "two")]
    found = [HookResult(verdict=verdict, reason=reason, name=reason, context=reason) for verdict, reason in texts]
    whole = combined(found)
    assert (whole.verdict, whole.reason, whole.name, whole.context) == ("deny", "one", "one", "sure?\n\none\n\ntwo")
    assert combined(found[:2]).reason == "sure?"


@given(st.lists(results))
def test_the_laws_of_combining(found: list[HookResult]) -> None:
    whole = combined(found)
    said = {result.verdict for result in found} | {"allow"}
    assert whole.verdict == max(said, key=VERDICTS.index)
    rewrites = [result.arguments for result in found if result.arguments is not None]
    assert whole.arguments == (rewrites[-1] if rewrites and whole.verdict != "deny" else None)
    assert whole.seconds == sum(result.seconds for result in found)
    assert bool(whole.error) == any(result.error for result in found)
