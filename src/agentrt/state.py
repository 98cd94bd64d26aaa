"""The state of a conversation: a pure fold of its events.

It has two halves. `Branch` is what goes back on a rewind: what the model sees, what is pending. `Ledger` is what never
does: what was spent, which messages were received.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from . import ledger
from .chain import Chain
from .events import (
    ActionEvent,
    ActionResult,
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    BudgetReserved,
    ChildFinished,
    Condensation,
    CondensationRequest,
    CondensationSummaryEvent,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationCreated,
    ConversationErrorEvent,
    ConversationStateUpdateEvent,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ObservationEvent,
    PauseEvent,
    ResourceLost,
    RiskAssessed,
    RunRequested,
    StuckDetected,
    SystemPromptEvent,
    UserRejectObservation,
)
from .ledger import Ledger
from .specs import Agent, Durability, SecurityRisk
from .specs.tool import FINISH


class Seen(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A place in the view: an event that the model sees. Its content stays in the log, under its seq."""

    seq: int
    id: str
    type: str
    tool_name: str = ""
    action_id: str = ""
    """Of a result, the action that it answers."""
    answer: bool = False
    """Whether it is a message with which the agent ends its turn."""


class Pending(msgspec.Struct, frozen=True, gc=False):
    """An action without a result; `command` is the execution in flight."""

    action: ActionEvent
    risk: SecurityRisk | None = None
    approved: bool = False
    command: str | None = None
    attempt: int = 0


class Branch(msgspec.Struct, frozen=True, gc=False):
    """What a rewind takes back."""

    view: Chain[Seen] = Chain()
    """What the model sees, in its order."""
    queued: tuple[Seen, ...] = ()
    """What came since the last model call began; it joins the view when the next one does."""
    pending: tuple[Pending, ...] = ()
    call: str | None = None
    """The command of the model call in flight."""
    condense: bool = False
    cut: bool = False
    """An interrupt was logged: what is in flight may only be closed."""
    steps: int = 0
    """Model calls since the run began."""


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A branch as it was after event `seq`, with nothing pending: a place to rewind to."""

    seq: int
    branch: Branch


class State(msgspec.Struct, frozen=True, gc=False):
    """A conversation after its first `seq` events."""

    seq: int = 0
    epoch: int = 0
    durability: Durability = Durability.COMMIT
    created: ConversationCreated | None = None
    agent: Agent | None = None
    prompt: SystemPromptEvent | None = None
    status: ExecutionStatus = ExecutionStatus.IDLE
    error: ConversationErrorEvent | None = None
    branch: Branch = Branch()
    ledger: Ledger = Ledger()
    checkpoints: Chain[Checkpoint] = Chain()

    @property
    def spec(self) -> Agent:
        """The agent as it is configured now; only of a log that has its first event."""
        assert self.agent is not None
        return self.agent

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The commands that were begun and have no outcome yet."""
        executions = tuple(p.command for p in self.branch.pending if p.command is not None)
        return executions if self.branch.call is None else (self.branch.call, *executions)


def fold(events: Iterable[Event], start: State = State()) -> State:
    """The state after `events`, from `start` on."""
    state = start
    for event in events:
        state = apply(state, event)
    return state


def branch(events: Iterable[Event]) -> list[Event]:
    """The events that lead to the head: those that a rewind left behind are gone."""
    active: list[Event] = []
    for event in events:
        if isinstance(event, HeadMoved):
            active = [kept for kept in active if kept.seq <= event.to]
        active.append(event)
    return active


def apply(state: State, event: Event) -> State:
    """The state after one more event."""
    after = _apply(state, event)
    here = after.branch
    if here is state.branch or here.pending or here.call is not None:
        return replace(after, seq=event.seq)
    return replace(after, seq=event.seq, checkpoints=after.checkpoints.append(Checkpoint(event.seq, here)))


def _apply(state: State, event: Event) -> State:
    here = state.branch
    match event:
        case ModelCallStarted():
            view = here.view
            for queued in here.queued:
                view = view.append(queued)
            here = replace(here, view=view, queued=(), call=event.command, steps=here.steps + 1)
            return replace(state, branch=here, ledger=ledger.began(state.ledger))
        case ModelCalled():
            here = _uncut(replace(here, call=None))
            return replace(state, branch=here, ledger=ledger.called(state.ledger, event))
        case ActionEvent():
            here = replace(here, view=here.view.append(as_seen(event)), pending=(*here.pending, Pending(event)))
            return replace(state, branch=here)
        case ObservationEvent() | UserRejectObservation() | AgentErrorEvent():
            return _resulted(state, event)
        case ExecutionStarted():
            return _pending(state, (event.action_id,), command=event.command, attempt=event.attempt)
        case ExecutionLost():
            state = _pending(state, (event.action_id,), command=None, approved=True)
            return replace(state, branch=_uncut(state.branch))
        case RiskAssessed():
            return _pending(state, (event.action_id,), risk=event.risk)
        case ActionRevised():
            return _revised(state, event)
        case MessageEvent():
            return _message(state, event)
        case RunRequested():
            return _run_requested(state)
        case ConfirmationRequested():
            return replace(state, status=ExecutionStatus.WAITING_FOR_CONFIRMATION)
        case ConfirmationGiven():
            return replace(_pending(state, event.action_ids, approved=True), status=ExecutionStatus.RUNNING)
        case PauseEvent():
            return _stopped(state, here)
        case InterruptEvent():
            return _stopped(state, replace(here, cut=bool(state.in_flight)))
        case CondensationRequest():
            return replace(state, branch=replace(here, condense=True))
        case Condensation():
            here = replace(here, view=_condensed(here.view, event), condense=False)
            return replace(state, branch=here, ledger=ledger.began(state.ledger))
        case ResourceLost():
            return replace(state, branch=replace(here, queued=(*here.queued, as_seen(event))))
        case StuckDetected():
            return replace(state, status=ExecutionStatus.STUCK)
        case ConversationErrorEvent():
            return replace(state, status=ExecutionStatus.ERROR, error=event)
        case HeadMoved():
            return _rewound(state, event)
        case BudgetGranted():
            return replace(state, ledger=replace(state.ledger, granted=state.ledger.granted + event.amount))
        case ModelCallRetried():
            return replace(state, ledger=ledger.retried(state.ledger, event))
        case BudgetReserved():
            return replace(state, ledger=replace(state.ledger, reserved=event))
        case ChildFinished():
            return replace(state, ledger=ledger.child_finished(state.ledger, event))
        case ConversationCreated():
            return _created(state, event)
        case DurabilityChanged():
            return replace(state, durability=event.durability, epoch=event.epoch)
        case SystemPromptEvent():
            return replace(state, prompt=event, branch=replace(here, view=here.view.append(as_seen(event))))
        case ConversationStateUpdateEvent():
            return replace(state, agent=_reconfigured(state.spec, event))
        case _:
            return state


def _created(state: State, event: ConversationCreated) -> State:
    """The beginning; that of a fork keeps what was said, and has spent nothing yet."""
    kept = Ledger(commands=state.ledger.commands, message_ids=state.ledger.message_ids)
    state = replace(state, created=event, agent=event.agent, ledger=kept, error=None)
    return replace(state, status=ExecutionStatus.IDLE, epoch=0, durability=Durability.COMMIT)


def _uncut(here: Branch) -> Branch:
    """The cut ends with the last of what was in flight."""
    if not here.cut or here.call is not None or any(p.command for p in here.pending):
        return here
    return replace(here, cut=False)


def _resulted(state: State, event: ActionResult) -> State:
    here = state.branch
    pending = tuple(p for p in here.pending if p.action.id != event.action_id)
    if len(pending) == len(here.pending):
        return state
    here = _uncut(replace(here, view=here.view.append(as_seen(event)), pending=pending))
    status = state.status
    if isinstance(event, ObservationEvent) and event.tool_name == FINISH and not event.is_error and not _unread(here):
        status = ExecutionStatus.FINISHED
    elif status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        status = ExecutionStatus.RUNNING
    return replace(state, branch=here, status=status)


def _pending(state: State, action_ids: tuple[str, ...], **changes: object) -> State:
    pending = tuple(replace(p, **changes) if p.action.id in action_ids else p for p in state.branch.pending)
    return replace(state, branch=replace(state.branch, pending=pending))


def _revised(state: State, event: ActionRevised) -> State:
    for waiting in state.branch.pending:
        if waiting.action.id == event.action_id:
            action = replace(waiting.action, arguments=event.arguments)
            return _pending(state, (event.action_id,), action=action, risk=None, approved=False)
    return state


def _message(state: State, event: MessageEvent) -> State:
    here = state.branch
    if event.source == "agent":
        here = replace(here, view=here.view.append(as_seen(event)))
        ends = state.status is ExecutionStatus.RUNNING and not event.partial and not _unread(here)
        return replace(state, branch=here, status=ExecutionStatus.FINISHED if ends else state.status)
    kept = state.ledger
    if event.source == "user":
        kept = replace(kept, message_ids=kept.message_ids | {event.id})
    ended = state.status in (ExecutionStatus.FINISHED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)
    return replace(
        state,
        branch=replace(here, queued=(*here.queued, as_seen(event))),
        ledger=kept,
        status=ExecutionStatus.IDLE if ended else state.status,
    )


def _run_requested(state: State) -> State:
    if state.status in (ExecutionStatus.RUNNING, ExecutionStatus.WAITING_FOR_CONFIRMATION):
        return state
    if answered(state):
        return replace(state, status=ExecutionStatus.FINISHED) if state.status is ExecutionStatus.PAUSED else state
    return replace(state, status=ExecutionStatus.RUNNING, error=None, branch=replace(state.branch, steps=0))


def _unread(here: Branch) -> bool:
    """Whether a message waits for the next model call; what else is queued can wait for it."""
    return any(queued.type == "MessageEvent" for queued in here.queued)


def answered(state: State) -> bool:
    """Whether the agent has nothing to answer: a run would have nothing to do."""
    here = state.branch
    if here.pending or here.condense or _unread(here):
        return False
    if state.status is ExecutionStatus.FINISHED or len(here.view) <= 1:
        return True
    return here.view[-1].answer


def _stopped(state: State, here: Branch) -> State:
    stoppable = (ExecutionStatus.RUNNING, ExecutionStatus.WAITING_FOR_CONFIRMATION)
    return replace(state, branch=here, status=ExecutionStatus.PAUSED if state.status in stoppable else state.status)


def _condensed(view: Chain[Seen], event: Condensation) -> Chain[Seen]:
    forgotten = frozenset(event.forgotten_event_ids)
    kept: list[Seen] = []
    place: int | None = None
    for seen in view:
        if seen.id not in forgotten:
            kept.append(seen)
        elif place is None:
            place = len(kept)
    if place is not None and event.summary:
        kept.insert(place, as_seen(summarized(event)))
    return Chain(kept)


def summarized(event: Condensation) -> CondensationSummaryEvent:
    """What stands in the view for what a condensation forgot."""
    return CondensationSummaryEvent(
        id=f"{event.id}-summary", seq=event.seq, timestamp=event.timestamp, summary=event.summary
    )


def as_seen(event: Event) -> Seen:
    """The place that an event takes in a view."""
    match event:
        case ActionEvent():
            return Seen(event.seq, event.id, "ActionEvent", event.tool_name)
        case ObservationEvent() | UserRejectObservation() | AgentErrorEvent():
            return Seen(event.seq, event.id, type(event).__name__, event.tool_name, event.action_id)
        case MessageEvent():
            answer = event.source == "agent" and not event.partial
            return Seen(event.seq, event.id, "MessageEvent", answer=answer)
        case ResourceLost():
            return Seen(event.seq, event.id, "ResourceLost", event.tool_name)
        case _:
            return Seen(event.seq, event.id, type(event).__name__)


def _rewound(state: State, event: HeadMoved) -> State:
    keep = len(state.checkpoints)
    while keep and state.checkpoints[keep - 1].seq > event.to:
        keep -= 1
    here = state.checkpoints[keep - 1].branch if keep else Branch()
    return replace(
        state, branch=here, status=ExecutionStatus.IDLE, error=None, checkpoints=state.checkpoints.prefix(keep)
    )


def _reconfigured(agent: Agent, event: ConversationStateUpdateEvent) -> Agent:
    fields = msgspec.to_builtins(agent)
    fields[event.key] = msgspec.json.decode(event.value)
    return msgspec.convert(fields, Agent)
