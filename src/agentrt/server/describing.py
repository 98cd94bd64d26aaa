"""Makes the structs of replies that describe conversations and their states. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import convert

from ..context.usage import context_usage
from ..decisions import awaiting, waiting
from ..events import Cursor
from ..ledger import Goal, GoalStatus
from ..listing import CRASHED, Row
from ..specs import SecurityRisk
from ..specs.llm import named
from ..state import Pending, State
from .schemas import ConversationInfo, GoalInfo, PendingAction, PendingInput, RunError, StateInfo, Status

_CRASHED = RunError(
    code="crashed", detail="interrupted by a crash: run it, and it goes on from its log", retryable=True
)


def info_of(name: str, state: State, updated: datetime, title: str) -> ConversationInfo:
    """Describe a conversation by its whole state; `title` is used if the conversation has none."""
    ledger, created = state.ledger, state.created
    assert created is not None
    return ConversationInfo(
        id=name,
        status=state.status.value,
        title=ledger.title or title,
        tags=ledger.tags,
        cursor=Cursor(state.epoch, state.seq),
        created=created.timestamp,
        updated=updated,
        owner=created.owner,
        parent=created.parent,
        delegated_by=created.delegated_by,
        model=named(state.spec.llm),
        workspace=created.workspace.path,
        cost=ledger.cost,
        unpriced=ledger.unpriced,
        prompt_tokens=ledger.usage.prompt_tokens,
        completion_tokens=ledger.usage.completion_tokens,
        pending=_shown(waiting(state)),
        awaited=_shown(awaiting(state)),
        inputs=_asked(state),
        error=_error(state),
        answer=state.answer,
    )


def info_of_row(row: Row, state: State | None) -> ConversationInfo:
    """Describe a conversation of a list. Its `state`, if known, adds what waits in it and the error that ended it."""
    return ConversationInfo(
        id=row.id,
        status=convert(row.status, Status),
        title=row.title,
        tags=row.tags,
        cursor=Cursor(state.epoch, state.seq) if state is not None else Cursor(0, row.events),
        created=row.created,
        updated=row.updated,
        owner=row.owner,
        parent=row.parent,
        delegated_by=row.delegated_by,
        model=row.model,
        workspace=row.workspace,
        cost=row.cost,
        unpriced=row.unpriced,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        pending=_shown(waiting(state)) if state is not None else (),
        awaited=_shown(awaiting(state)) if state is not None else (),
        inputs=_asked(state) if state is not None else (),
        error=_CRASHED if row.status == CRASHED else _error(state) if state is not None else None,
    )


def state_info(state: State) -> StateInfo:
    """Describe a whole state."""
    ledger = state.ledger
    return StateInfo(
        cursor=Cursor(state.epoch, state.seq),
        status=state.status,
        title=ledger.title,
        tags=ledger.tags,
        model=named(state.agent.llm) if state.agent is not None else "",
        cost=ledger.cost,
        unpriced=ledger.unpriced,
        prompt_tokens=ledger.usage.prompt_tokens,
        completion_tokens=ledger.usage.completion_tokens,
        steps=state.branch.steps,
        pending=_shown(waiting(state)),
        awaited=_shown(awaiting(state)),
        inputs=_asked(state),
        error=_error(state),
        answer=state.answer,
        agent=state.agent,
        rules=ledger.added,
        goal=_goal(ledger.goal),
        granted=ledger.granted,
        secrets=ledger.secrets,
        context=context_usage(state),
    )


def _goal(goal: Goal | None) -> GoalInfo | None:
    if goal is None:
        return None
    return GoalInfo(
        objective=goal.set.objective,
        iterations=goal.iterations,
        max_iterations=goal.set.max_iterations,
        outcome=goal.outcome or GoalStatus.RUNNING,
    )


def _shown(actions: Iterable[Pending]) -> tuple[PendingAction, ...]:
    return tuple(
        PendingAction(
            id=pending.action.id,
            tool_name=pending.action.tool_name,
            arguments=pending.action.arguments_json,
            risk=None if pending.risk is SecurityRisk.UNKNOWN else pending.risk,
            held=pending.held,
            reason=pending.reason,
        )
        for pending in actions
    )


def _asked(state: State) -> tuple[PendingInput, ...]:
    return tuple(
        PendingInput(
            id=asked.id,
            action_id=asked.action_id,
            message=asked.message,
            schema=asked.schema,
            url=asked.url,
            asks=asked.asks,
        )
        for asked in state.branch.inputs
    )


def _error(state: State) -> RunError | None:
    error = state.error
    return None if error is None else RunError(code=error.code, detail=error.detail, retryable=error.retryable)
