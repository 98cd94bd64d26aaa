"""Controls as events."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.controls import (
    AnyControl,
    AskAgent,
    Configure,
    Confirm,
    Fork,
    GenerateTitle,
    GiveInput,
    GiveResult,
    Interrupt,
    LoadPlugin,
    Reject,
    RemoveRule,
    SendMessage,
    SetSecurityAnalyzer,
    UpdateSecrets,
)
from agentrt.decisions.asked import asked
from agentrt.errors import ConfigurationError
from agentrt.events import ContextResolved, RuleAdded, RuleRemoved
from agentrt.ledger import AddedRule
from agentrt.specs import LLM, NeverConfirm, PermissionRule
from agentrt.specs.context import Offer
from agentrt.specs.rules import Verdict
from agentrt.state import State, fold
from tests import samples

pytestmark = pytest.mark.pure

MORE = {AskAgent, Fork, GiveInput, GiveResult, LoadPlugin, GenerateTitle, Interrupt, SendMessage, UpdateSecrets}
"""What is more than its events."""

NOTHING_WAITS = {Confirm, Reject}

GIVEN = {
    "rule": PermissionRule("allow", tool="look"),
    "changes": {"busy": "steer"},
    "policy": NeverConfirm(),
    "llm": LLM(model="other"),
    "objective": "It works.",
    "title": "A title",
    "tags": {"a": "b"},
    "amount": 1.0,
    "to": 2,
    "digest": "d" * 64,
}

OFFERED = ContextResolved(offers=(Offer(digest="d" * 64, name="hooks of the project"),))
STATE = fold(samples.numbered([*samples.beginning(), OFFERED, RuleAdded(rule=PermissionRule("allow", tool="look"))]))


@pytest.mark.parametrize("kind", sorted(set(get_args(AnyControl)) - MORE - NOTHING_WAITS, key=str))
def test_each_control_is_logged_as_asked_by_someone(kind: type[Any]) -> None:
    fields = {field.name for field in msgspec.structs.fields(kind) if field.required}
    control = msgspec.json.decode(msgspec.json.encode({name: GIVEN[name] for name in fields}), type=kind)
    events = asked(STATE, control, "ada")
    assert events
    assert {event.by for event in events} == {"ada"}
    assert all(event.by is None for event in asked(STATE, control))


@pytest.mark.parametrize("kind", sorted(NOTHING_WAITS, key=str))
def test_where_nothing_waits_nothing_is_logged(kind: type[Any]) -> None:
    assert asked(STATE, kind()) == ()


def test_nobody_rates_where_nobody_is_named() -> None:
    (event,) = asked(STATE, SetSecurityAnalyzer())
    assert b"null" in msgspec.json.encode(event)


def test_only_a_rule_that_was_added_is_taken_back() -> None:
    own, added, other = (PermissionRule("allow", name) for name in ("own", "added", "other"))
    state = holding(AddedRule(added), own=own)
    (event,) = asked(state, RemoveRule(rule=added))
    assert isinstance(event, RuleRemoved)
    (event,) = asked(state, RemoveRule(rule=other, scope="project"))
    assert isinstance(event, RuleRemoved), "the workspace may have it"
    with pytest.raises(ConfigurationError, match="the agent's own"):
        asked(state, RemoveRule(rule=own))
    with pytest.raises(ConfigurationError, match="conversation$"):
        asked(state, RemoveRule(rule=other))


def holding(*added: AddedRule, own: PermissionRule = PermissionRule("allow")) -> State:
    return replace(STATE, agent=replace(STATE.spec, rules=(own,)), ledger=replace(STATE.ledger, added=added))


@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_strict_rule_is_taken_back_where_it_came_from(verdict: Verdict) -> None:
    """Else whoever may approve in one conversation would get around what an admin had for all in the workspace."""
    rule = PermissionRule(verdict, "terminal")
    for state in (holding(AddedRule(rule, "project")), holding(AddedRule(rule, "above"))):
        with pytest.raises(ConfigurationError, match="take it back there"):
            asked(state, RemoveRule(rule=rule))
    assert len(asked(holding(AddedRule(rule, "project")), RemoveRule(rule=rule, scope="project"))) == 1
    assert len(asked(holding(AddedRule(rule)), RemoveRule(rule=rule))) == 1
    allowed = PermissionRule("allow", "terminal")
    assert len(asked(holding(AddedRule(allowed, "project")), RemoveRule(rule=allowed))) == 1


@pytest.mark.parametrize("changes", [{"dance": b"1"}, {"tools": b"[]"}, {"limits": b"7"}])
def test_what_cannot_be_changed_is_refused(changes: dict[str, bytes]) -> None:
    with pytest.raises(ConfigurationError):
        asked(STATE, Configure({name: msgspec.Raw(value) for name, value in changes.items()}))
