"""The events that the log adds to a batch: those that begin the commands that it makes due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec.structs import replace

from ..events import (
    ActionEvent,
    ChildMessaged,
    ChildStarted,
    ConfirmationRequested,
    ConversationErrorEvent,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    MessageEvent,
    ModelCallStarted,
    ObservationEvent,
    RunEnded,
    StuckDetected,
    ToolResultRequested,
    ToolResultsAwaited,
    UserRejectObservation,
)
from ..specs.content import text
from ..specs.tokens import content_tokens
from ..state import State, apply, marked, marked_result
from .commands import (
    Activate,
    AssessRisk,
    Attend,
    AwaitChildren,
    AwaitResults,
    CallModel,
    Command,
    Condense,
    Delegate,
    End,
    ExecuteAction,
    Judge,
    Launch,
    Note,
    Refuse,
    RequestConfirmation,
    RequestResult,
    RunHooks,
    Stop,
    Task,
    Tell,
    Warn,
)
from .due import decide
from .sharing import delegated

_LAUNCHED = (
    "It works in the background as task {0}, and you are told once it has ended. Go on with something else; to tell it"
    " something meanwhile, call this tool with that as `resume`."
)
_TOLD = "Task {0} is told, and goes on."


def _noted(command: str, action: ActionEvent, attempt: int, said: str) -> tuple[Event, ...]:
    """Return the events of an execution that is complete once the log has noted it."""
    return (
        ExecutionStarted(command=command, action_id=action.id, attempt=attempt, caused_by=action.id),
        ObservationEvent(
            action_id=action.id,
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            content=text(said),
            caused_by=action.id,
        ),
    )


def beginning(command: Command) -> tuple[Event, ...]:
    """Return the events that begin a command, or that are all there is to it; none for one that may begin twice."""
    match command:
        case CallModel(id):
            return (ModelCallStarted(command=id),)
        case ExecuteAction(id, action, attempt, _):
            return (ExecutionStarted(command=id, action_id=action.id, attempt=attempt, caused_by=action.id),)
        case Activate(id, _, action, attempt):
            if action is None:
                return ()
            return (ExecutionStarted(command=id, action_id=action.id, attempt=attempt, caused_by=action.id),)
        case Delegate(id, action, attempt, child_id, grant):
            begun = ExecutionStarted(command=id, action_id=action.id, attempt=attempt, caused_by=action.id)
            task = delegated(action.arguments_json)
            child = ChildStarted(
                child_id=child_id,
                task=task.task,
                agent=task.agent,
                action_id=action.id,
                grant=grant,
                caused_by=action.id,
            )
            return (begun, child)
        case Launch(id, action, attempt, child_id, grant):
            task = delegated(action.arguments_json)
            started = ChildStarted(
                child_id=child_id,
                task=task.task,
                agent=task.agent,
                action_id=action.id,
                grant=grant,
                background=True,
                caused_by=action.id,
            )
            first, noted = _noted(id, action, attempt, _LAUNCHED.format(child_id))
            return (first, started, noted)
        case Tell(id, action, attempt, child_id):
            told = ChildMessaged(child_id=child_id, message=delegated(action.arguments_json).task, caused_by=action.id)
            return (*_noted(id, action, attempt, _TOLD.format(child_id)), told)
        case RequestConfirmation(_, reasons):
            held, codes = zip(*reasons, strict=True)
            return (ConfirmationRequested(action_ids=held, reasons=codes),)
        case RequestResult(_, action, deadline):
            return (ToolResultRequested(action_id=action.id, deadline=deadline, caused_by=action.id),)
        case AwaitResults():
            return (ToolResultsAwaited(),)
        case AwaitChildren():
            return (ConfirmationRequested(action_ids=()),)
        case Refuse(_, action, reason):
            refused = UserRejectObservation(
                source="environment",
                by="rule",
                action_id=action.id,
                tool_name=action.tool_name,
                tool_call_id=action.tool_call_id,
                rejection_reason=reason,
                caused_by=action.id,
            )
            return (refused,)
        case Stop(_, code, detail):
            return (ConversationErrorEvent(code=code, detail=detail),)
        case End(_, reason):
            return (RunEnded(status=ExecutionStatus.FINISHED, reason=reason),)
        case Warn(_, pattern, detail, stop):
            found = StuckDetected(pattern=pattern, detail=detail, nudge=not stop)
            words = f"You are repeating yourself: {detail}. Try something else, or say what keeps you from going on."
            return (found,) if stop else (found, MessageEvent(content=text(words), caused_by=found.id))
        case AssessRisk() | Attend() | Condense() | RunHooks() | Judge():
            return ()
        case _:
            assert_never(command)


def complete(
    state: State, events: Sequence[Event], due_in: Callable[[State], Sequence[Command]] = decide
) -> tuple[list[Event], State, list[Task]]:
    """Return the numbered batch with the events of what it makes due, the state after it, and the tasks to perform."""
    batch: list[Event] = []

    def take(event: Event) -> None:
        nonlocal state
        if isinstance(event, MessageEvent):
            event = marked(state, event)
        elif isinstance(event, ObservationEvent):
            event = marked_result(state, event)
        numbered = _numbered(event, state.seq + 1)
        state = apply(state, numbered)
        batch.append(numbered)

    for event in events:
        take(event)
    due: dict[str, Task] = {}
    while True:
        noted = False
        for command in due_in(state):
            if command.id in due:
                continue
            for event in beginning(command):
                take(event)
            if isinstance(command, Note):
                noted = True
            else:
                due[command.id] = command
        if not noted:
            return batch, state, list(due.values())


def _numbered(event: Event, seq: int) -> Event:
    """Return an event as the log takes it: with its seq, and its tokens if it is a message or an observation."""
    if isinstance(event, MessageEvent | ObservationEvent):
        return replace(event, seq=seq, tokens=content_tokens(event.content))
    return replace(event, seq=seq)
