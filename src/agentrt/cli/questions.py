"""`Question`: what a person needs to know to decide on an action, read from the log."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ..conversation import Conversation
from ..decisions.permissions import remembering, ruling
from ..errors import LogError
from ..events import (
    ActionEvent,
    ChildWaiting,
    ConfirmationRequested,
    Cursor,
    Event,
    HookExecutionEvent,
    RiskAssessed,
)
from ..specs import PermissionRule, SecurityRisk, ToolDefinition
from ..state import Pending
from ..storing import Storage
from .permissions import rule_words
from .wording import why_asked


class Question(msgspec.Struct, frozen=True):
    """A pending action: its rating with the analyzer's reason, and why a person is asked.

    `always` is the rule that a permanent answer would add; None if a rule would change nothing, because the action's
    risk is not the reason for asking. `task` is the delegated task, for an action of a delegated conversation.
    """

    action: ActionEvent
    tool: ToolDefinition
    risk: SecurityRisk | None = None
    rating: str = ""
    why: str = ""
    always: PermissionRule | None = None
    task: str = ""


async def question_of(conversation: Conversation, pending: Pending, store: Storage) -> Question:
    """Return the question about a pending action of a conversation, or of one that it delegated to."""
    state, action = conversation.state, pending.action
    question = Question(action, state.definition(action.tool_name), pending.risk)
    for child_id, child in state.ledger.children.items():
        for waiting in child.waiting:
            if waiting.action_id == action.id:
                question = asked(question, waiting.reason, await _below(child_id, action.id, store))
                return replace(question, task=child.task)
    events = [event async for event in conversation.events(Cursor(state.epoch, max(action.seq - 1, 0)))]
    return asked(question, pending.held, events, ruling(state, action))


def asked(question: Question, code: str, events: Sequence[Event], rule: PermissionRule | None = None) -> Question:
    """Return the question with what the events since the action add to it; `code` is why it is asked. Pure."""
    action, detail = question.action, rule_words(rule) if rule is not None else ""
    for event in events:
        match event:
            case RiskAssessed() if event.action_id == action.id:
                question = replace(question, risk=event.risk, rating=event.reason)
            case ConfirmationRequested() if action.id in event.action_ids:
                reasons = dict(zip(event.action_ids, event.reasons, strict=False))
                code = reasons.get(action.id, code)
            case HookExecutionEvent() if event.target == action.id and event.verdict == "ask":
                detail = event.reason or detail
    always = remembering(action, question.tool) if code in ("risk", "every") else None
    return replace(question, why=why_asked(code, detail), always=always)


async def _below(child_id: str, action_id: str, store: Storage) -> list[Event]:
    """Return the events of the delegated conversation that has the action; conversations that cannot be read are
    skipped.
    """
    try:
        events = [event async for event in store.history(child_id).read()]
    except LogError:
        return []
    if any(isinstance(event, ActionEvent) and event.id == action_id for event in events):
        return events
    for event in events:
        if isinstance(event, ChildWaiting) and any(action.action_id == action_id for action in event.actions):
            return await _below(event.child_id, action_id, store)
    return events
