"""The events that carry out a control, as far as events can."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ..context.titles import checked_tags, checked_title
from ..controls import (
    AddRule,
    Agree,
    AnyControl,
    Condense,
    Configure,
    Confirm,
    GiveInput,
    Grant,
    Pause,
    Reject,
    RemoveRule,
    Rename,
    Rewind,
    SetConfirmationPolicy,
    SetGoal,
    SetSecurityAnalyzer,
    SetTags,
    StartRun,
    SwitchLLM,
)
from ..errors import ConfigurationError
from ..events import (
    BudgetGranted,
    CondensationRequest,
    ConsentGiven,
    ConversationStateUpdateEvent,
    Cursor,
    Event,
    ExecutionStatus,
    GoalSet,
    HeadMoved,
    InputGiven,
    MessageEvent,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunRequested,
    TagsChanged,
    TitleChanged,
)
from ..ledger import Origin
from ..specs import Agent, PermissionRule, replaced
from ..specs.content import text
from ..specs.raw import raw
from ..specs.rules import Scope
from ..state import State, check_epoch
from .answers import approval, rejection, waiting

_FIXED = frozenset(
    {"tools", "client_tools", "system_prompt", "context", "output", "mcp_servers", "mcp_config", "filter_tools_regex"}
)
"""The fields of an agent that cannot be changed."""


MOST_GRANTED = 1_000_000_000
"""Maximum grant in USD: sums of larger numbers soon have no representation in JSON."""


def asked(state: State, control: AnyControl, by: str | None = None) -> tuple[Event, ...]:
    """Return the batch that a control logs, on behalf of the principal `by`; empty for one that takes more than events.

    Raises `ConfigurationError` for an invalid control, and `CursorExpired` for a place of another epoch.
    """
    return signed(_events(state, control), by)


def signed(events: tuple[Event, ...], by: str | None) -> tuple[Event, ...]:
    """Return the events, on behalf of a principal."""
    return events if by is None else tuple(replace(event, by=by) for event in events)


def changes_in(control: AnyControl) -> Mapping[str, msgspec.Raw] | None:
    """Return the fields of the agent that a control changes, with their values; None if it changes none."""
    match control:
        case Configure(changes=changes):
            return changes
        case SetConfirmationPolicy(policy=policy):
            return {"confirmation": raw(policy)}
        case SetSecurityAnalyzer(names=names):
            return {"analyzer": raw(names or None)}
        case SwitchLLM(llm=llm):
            return {"llm": raw(llm)}
        case _:
            return None


def changed(agent: Agent, changes: Mapping[str, msgspec.Raw]) -> Agent:
    """Return the agent with other values of some fields. Raises `ConfigurationError` for an unknown or fixed field, or
    an invalid value.
    """
    if unknown := changes.keys() - (set(agent.__struct_fields__) - _FIXED):
        raise ConfigurationError(
            f"cannot change {', '.join(sorted(unknown))} of an agent after the conversation has begun"
        )
    try:
        return replaced(agent, changes)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the agent cannot be changed like this: {error}") from error


def _events(state: State, control: AnyControl) -> tuple[Event, ...]:
    if (changes := changes_in(control)) is not None:
        changed(state.spec, changes)
        return tuple(
            ConversationStateUpdateEvent(source="user", key=key, value=value) for key, value in changes.items()
        )
    match control:
        case StartRun():
            return (RunRequested(),)
        case Pause():
            return (PauseEvent(),)
        case Confirm(action_ids=ids, always=always, rule=rule):
            _check_waiting(state)
            return approval(state, ids, always, rule)
        case Reject(reason=reason, action_ids=ids):
            _check_waiting(state)
            if not ids and any(waits.action.id == reason for waits in waiting(state)):
                raise ConfigurationError(f"the reason comes first: reject('why not', {reason!r})")
            return rejection(state, reason, ids)
        case GiveInput(request_id=request_id, verdict=verdict, content=content):
            if request_id not in {asked.id for asked in state.branch.inputs}:
                raise ConfigurationError(f"no question {request_id!r} waits for an answer here")
            return (InputGiven(request_id=request_id, verdict=verdict, content=raw(content)),)
        case AddRule(rule=rule, scope=scope):
            return (RuleAdded(rule=rule, scope=scope),)
        case RemoveRule(rule=rule, scope=scope):
            return _removal(state, rule, scope)
        case SetGoal(objective=objective, judge=judge, max_iterations=most):
            if most < 1:
                raise ConfigurationError(f"a goal cannot be judged {most} times: give 1 or more")
            return (GoalSet(objective=objective, judge=judge, max_iterations=most),)
        case Rename(title=title):
            return (TitleChanged(title=checked_title(title), source="user"),)
        case SetTags(tags=tags):
            return (TagsChanged(tags=checked_tags(tags)),)
        case Agree(digest=digest):
            if digest not in {offer.digest for offer in state.unagreed}:
                raise ConfigurationError(f"nothing with the digest {digest!r} waits for consent here")
            return (ConsentGiven(digest=digest),)
        case Grant(amount=amount):
            if not 0 <= amount <= MOST_GRANTED:
                raise ConfigurationError(f"cannot grant {amount} USD: give a number from 0 to {MOST_GRANTED:,}")
            return (BudgetGranted(amount=amount),)
        case Rewind(to=to, epoch=epoch, files=files):
            check_epoch(Cursor(epoch, to), state)
            words = (f"[Task {name}, in the background, was given up with the rewind.]" for name in state.background)
            return (HeadMoved(to=to, files=files), *(MessageEvent(content=text(said)) for said in words))
        case Condense():
            return (CondensationRequest(source="user"),)
        case _:
            return ()


def _check_waiting(state: State) -> None:
    """Raise `ConfigurationError` if an answer would be lost, since a paused conversation asks again when it runs."""
    if state.status is ExecutionStatus.PAUSED and any(p.held for p in state.branch.pending) and not waiting(state):
        raise ConfigurationError("the conversation was paused meanwhile: run it, and it asks again")


_HELD: dict[Origin, str] = {
    "project": "is the workspace's: take it back there, with the scope 'project'",
    "above": "came from the conversation that delegated this one: take it back there",
}


def _removal(state: State, rule: PermissionRule, scope: Scope) -> tuple[Event, ...]:
    """Return the removal of a rule. A rule that asks or denies can be removed only where it came from; a rule of the
    workspace need not apply in this conversation.
    """
    found = next((added for added in state.ledger.added if added.rule == rule), None)
    if found is not None:
        if rule.verdict != "allow" and found.origin not in ("session", scope):
            raise ConfigurationError(f"this rule {_HELD[found.origin]}")
        return (RuleRemoved(rule=rule, scope=scope),)
    if scope == "project":
        return (RuleRemoved(rule=rule, scope=scope),)
    own = ": it is one of the agent's own, and configure(rules=...) changes those" if rule in state.spec.rules else ""
    raise ConfigurationError(f"no such rule was added to this conversation{own}")
