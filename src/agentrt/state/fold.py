"""`apply`: compute the state after one more event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from .. import ledger
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    BudgetReserved,
    ChildAnswered,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    ChildWaiting,
    CommandEnded,
    CommandStarted,
    Condensation,
    CondensationRequest,
    ConfirmationGiven,
    ConfirmationRequested,
    ConsentGiven,
    ContextChanged,
    ContextResolved,
    ConversationCreated,
    ConversationErrorEvent,
    ConversationStateUpdateEvent,
    CriticAssessed,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    FilesRestored,
    GoalSet,
    HeadMoved,
    HookExecutionEvent,
    InputGiven,
    InputRequested,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ModelVisible,
    ObservationEvent,
    ResourceLost,
    RiskAssessed,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    RunRequested,
    SecretsChanged,
    SkillActivated,
    StuckDetected,
    SystemPromptEvent,
    TagsChanged,
    TitleChanged,
    ToolResultRequested,
    ToolsChanged,
    UserRejectObservation,
)
from ..ledger import Counting, Goal, Ledger
from ..specs import Durability, SecurityRisk, replaced
from ..specs.secrets import for_commands
from . import implied, skills, turns
from .parts import Calling, Checkpoint, Inner, Pending, Seen, State, Working
from .places import checkpoint
from .seeing import as_seen, condensed, prompted, with_seen, with_view
from .status import BY_TYPE, status_after

_WORKING = Working()


def fold(events: Iterable[Event], start: State = State()) -> State:
    """Return the state after `events`, beginning with `start`."""
    state = start
    for event in events:
        state = apply(state, event)
    return state


def branch(events: Sequence[Event]) -> list[Event]:
    """Return the events that lead to the head, in order, without those that a rewind left behind."""
    active: list[Event] = []
    up_to = math.inf
    for event in reversed(events):
        if event.seq <= up_to:
            active.append(event)
            up_to = event.to if isinstance(event, HeadMoved) else up_to
    return active[::-1]


def apply(state: State, event: Event) -> State:
    """Return the state after one more event."""
    after = _apply(state, event)
    if type(event) in BY_TYPE and (status := status_after(state.status, event)) is not state.status:
        after = replace(after, status=status)
        if status is ExecutionStatus.RUNNING:
            after = replace(after, branch=turns.unheld(after.branch))
    if after.implied:
        after = implied.told(state, event, after)
    here, past = after.branch, after.checkpoints
    if here is state.branch or here.pending or type(here.phase) is Calling or (past and past[-1].branch is here):
        return replace(after, seq=event.seq)
    return replace(after, seq=event.seq, checkpoints=past.append(Checkpoint(event.seq, here, after.answer)))


def _apply(state: State, event: Event) -> State:
    here = state.branch
    match event:
        case ModelCallStarted():
            return _call_started(state, event)
        case ModelCalled():
            kept = ledger.called(state.ledger, event)
            if event.command == here.call:
                here = replace(here, phase=_WORKING)
                kept = ledger.counted(kept, event, here.tokens)
                here = replace(here, refused=0) if here.refused and event.error is None else here
            return replace(state, branch=turns.uncut(here) if here.cut else here, ledger=kept)
        case ActionEvent(skill=skill) if skill:
            pending = (*here.pending, Pending(event, causes=here.labels))
            return replace(state, branch=skills.called(replace(here, pending=pending), event))
        case ActionEvent(within=str(within)):
            pending = (*here.pending, Pending(event, causes=here.labels))
            inner = (*here.inner, Inner(event.id, event.seq, within))
            return replace(state, branch=replace(here, pending=pending, inner=inner))
        case ActionEvent():
            pending = (*here.pending, Pending(event, causes=here.labels))
            denied = here.denied if state.definition(event.tool_name).ends_turn else 0
            here = with_seen(here, as_seen(event))
            return replace(state, branch=replace(here, pending=pending, denied=denied))
        case ObservationEvent() | UserRejectObservation() | AgentErrorEvent():
            return turns.resulted(state, event)
        case ExecutionStarted():
            return _started(state, event)
        case ExecutionLost():
            if not event.begun:
                state = replace(state, ledger=ledger.child_untouched(state.ledger, event.action_id))
            state = _pending(state, (event.action_id,), command=None, approved=True, lost=True)
            state = replace(state, ledger=ledger.child_left(state.ledger, event.action_id))
            return replace(state, branch=turns.uncut(turns.unasked(state.branch, event.action_id)))
        case RiskAssessed():
            rated = {name: getattr(event, name) for name in turns.UNRATED}
            return _pending(state, (event.action_id,), **rated)
        case ActionRevised():
            return _revised(state, event)
        case MessageEvent():
            return turns.message(state, event)
        case RunRequested():
            return turns.run_requested(state, event)
        case RunEnded():
            return turns.run_ended(state, event)
        case ConfirmationRequested():
            return _held(state, event)
        case ConfirmationGiven():
            return turns.confirmed(state, event)
        case InputRequested():
            return replace(state, branch=replace(here, inputs=(*here.inputs, event)))
        case InputGiven():
            left = tuple(one for one in here.inputs if one.id != event.request_id)
            return replace(state, branch=replace(here, inputs=left))
        case ToolResultRequested():
            expires = event.timestamp.timestamp() + event.deadline if event.deadline is not None else 0.0
            return _pending(state, (event.action_id,), awaited=True, expires=expires)
        case InterruptEvent():
            kept = state.ledger if event.goes_on else ledger.children_cut(state.ledger)
            return replace(state, branch=replace(here, cut=bool(state.in_flight)), ledger=kept)
        case HookExecutionEvent():
            return turns.hooked(state, event)
        case CriticAssessed():
            return turns.assessed(state, event)
        case CondensationRequest():
            asked = event.source == "user" and here.condense != "needed"
            refused = here.refused if event.source == "user" else here.tokens
            here = replace(here, condense="asked" if asked else "needed", refused=refused)
            return replace(state, branch=here)
        case Condensation():
            here = with_view(here, condensed(here.view, event))
            if event.standing_event_ids is not None:
                here = skills.in_view(here)
            waiting = len(here.queued), sum(seen.tokens for seen in here.queued)
            sizes = len(here.view) + waiting[0], here.tokens + waiting[1]
            here = replace(here, condense="", condensed=sizes)
            return replace(state, branch=here, ledger=ledger.began(state.ledger))
        case ResourceLost():
            kept = replace(state.ledger, used_tools=state.ledger.used_tools - {event.tool_name})
            here = turns.revoked(replace(here, queued=(*here.queued, as_seen(event))), event)
            return replace(state, branch=here, ledger=kept)
        case SecretsChanged():
            now, before = for_commands(event.secrets), for_commands(state.ledger.secrets)
            told = event.source != "environment" and (now or not event.secrets)
            if told or now.keys() != before.keys():
                here = replace(here, queued=(*here.queued, as_seen(event)))
            past = (*state.ledger.past_secrets, *event.past)
            return replace(state, branch=here, ledger=replace(state.ledger, secrets=event.secrets, past_secrets=past))
        case StuckDetected(nudge=True):
            return replace(state, branch=replace(here, nudged=event.seq))
        case ConversationErrorEvent():
            still = here.condense if here.condense == "asked" else ""
            here = replace(here, condense=still, refused=0) if here.condense or here.refused else here
            return replace(state, branch=here, error=event)
        case SkillActivated():
            return replace(state, branch=skills.activated_by(here, event))
        case ContextResolved():
            return replace(state, context=event)
        case ConsentGiven():
            return skills.agreed(state, event)
        case ContextChanged():
            kept = replace(state.ledger, changed_files=(*state.ledger.changed_files, *event.paths))
            return replace(state, branch=replace(here, queued=(*here.queued, as_seen(event))), ledger=kept)
        case HeadMoved():
            return _rewound(state, event)
        case ConversationCreated():
            return _created(state, event)
        case DurabilityChanged():
            return replace(state, durability=event.durability, epoch=event.epoch)
        case SystemPromptEvent():
            return _prompted(replace(state, prompt=event))
        case ToolsChanged():
            state = _prompted(_offered(state, event))
            if event.told:
                here = state.branch
                state = replace(state, branch=replace(here, queued=(*here.queued, as_seen(event))))
            return state
        case ConversationStateUpdateEvent():
            return _configured(state, event)
        case RuleAdded() | RuleRemoved():
            return replace(state, ledger=ledger.ruled(state.ledger, event))
        case GoalSet():
            goal = Goal(event) if event.objective else None
            return replace(state, ledger=replace(state.ledger, goal=goal))
        case ChildStarted() | ChildMessaged() | ChildWaiting() | ChildAnswered() | ChildFinished():
            return _child(state, event)
        case _ if isinstance(event, ModelVisible):  # no other change: the next model call shows it
            return replace(state, branch=replace(here, queued=(*here.queued, as_seen(event))))
        case _:
            kept = _kept(state.ledger, event)
            return state if kept is state.ledger else replace(state, ledger=kept)


def _kept(kept: Ledger, event: Event) -> Ledger:
    """Return the ledger after an event, for changes that a rewind does not undo."""
    match event:
        case BudgetGranted():
            return replace(kept, granted=kept.granted + event.amount)
        case ModelCallRetried():
            return ledger.retried(kept, event)
        case BudgetReserved():
            return ledger.reserve(kept, event)
        case TitleChanged():
            return replace(kept, title=event.title)
        case TagsChanged():
            return replace(kept, tags=event.tags)
        case FilesRestored():
            return replace(kept, restoring=0)
        case CommandStarted():
            return replace(kept, beside=kept.beside | {event.id: event.command_line})
        case CommandEnded():
            return replace(kept, beside={name: one for name, one in kept.beside.items() if name != event.caused_by})
        case _:
            return kept


def _created(state: State, event: ConversationCreated) -> State:
    """Begin a conversation. A fork keeps its messages, rules and consents, and starts with no usage."""
    before = state.ledger
    kept = Ledger(
        commands=before.commands,
        message_ids=before.message_ids,
        started=before.started,
        added=ledger.own_rules(before),
        withdrawn=before.withdrawn,
        past_secrets=before.past_secrets,
        title=before.title,
        agreed=before.agreed,
        changed_files=before.changed_files,
    )
    labels = tuple(sorted({*state.branch.labels, *event.labels}))
    here = replace(state.branch, labels=labels) if event.labels else state.branch
    state = replace(state, created=event, agent=event.agent, branch=here, ledger=kept, error=None)
    return replace(state, epoch=0, durability=Durability.COMMIT)


def _call_started(state: State, event: ModelCallStarted) -> State:
    before = state.branch
    denied = 0 if before.denied and any(queued.user for queued in before.queued) else before.denied
    here = with_seen(before, *before.queued) if before.queued else before
    here = replace(here, queued=(), inner=(), phase=Calling(event.command), steps=here.steps + 1, denied=denied)
    return replace(state, branch=here, answer=None, ledger=ledger.began(state.ledger))


def _started(state: State, event: ExecutionStarted) -> State:
    used = state.ledger.used_tools
    names = {p.action.tool_name for p in state.branch.pending if p.action.id == event.action_id}
    if not names <= used:
        state = replace(state, ledger=replace(state.ledger, used_tools=used | names))
    return _pending(state, (event.action_id,), command=event.command, attempt=event.attempt)


def _held(state: State, event: ConfirmationRequested) -> State:
    why = dict(zip_longest(event.action_ids, event.reasons, fillvalue="risk"))
    pending = tuple(replace(p, held=why.get(p.action.id, "")) for p in state.branch.pending)
    return replace(state, branch=replace(state.branch, pending=pending))


def _offered(state: State, event: ToolsChanged) -> State:
    """Change the tools of a server. Approvals of, and questions about, a tool that has changed become void."""
    names = {tool.name: (event.server, tool.remote) for tool in event.tools}
    kept = replace(state.ledger, names={**state.ledger.names, **names})
    after = replace(state, servers={**state.servers, event.server: event}, ledger=kept)
    changed = {tool.name for tool in event.tools if tool.changed and tool != state.definition(tool.name)}
    pending = tuple(
        replace(p, approved=False, held="") if p.action.tool_name in changed and p.command is None else p
        for p in state.branch.pending
    )
    return replace(after, branch=replace(state.branch, pending=pending))


def _pending(state: State, action_ids: tuple[str, ...], **changes: object) -> State:
    pending = tuple(replace(p, **changes) if p.action.id in action_ids else p for p in state.branch.pending)
    return replace(state, branch=replace(state.branch, pending=pending))


def _revised(state: State, event: ActionRevised) -> State:
    for waiting in state.branch.pending:
        if waiting.action.id == event.action_id:
            before = waiting.action
            resources = before.resources if event.resources is None else event.resources
            risk = SecurityRisk.UNKNOWN if event.source == "hook" else before.security_risk  # the model's own rating
            action = replace(before, arguments_json=event.arguments_json, resources=resources, security_risk=risk)
            anew = {"approved": False, "held": "", "command": None, **turns.UNRATED}
            state = _pending(state, (event.action_id,), action=action, revised=event.seq, **anew)
            return replace(state, branch=turns.uncut(state.branch))
    return state


def _configured(state: State, event: ConversationStateUpdateEvent) -> State:
    """Apply a new setting. When the analyzers change, actions that have not begun are rated again."""
    before = state.spec
    state = replace(state, agent=replaced(before, {event.key: msgspec.json.decode(event.value)}))
    if state.spec.llm != before.llm:  # it may have another window and tokenizer
        state = replace(state, branch=replace(state.branch, refused=0, condensed=(0, 0)))
        state = replace(state, ledger=replace(state.ledger, counting=Counting()))
    if state.spec.analyzers != before.analyzers:
        waiting = tuple(p.action.id for p in state.branch.pending if p.command is None)
        state = _pending(state, waiting, **turns.UNRATED)
    return state


def _child(state: State, event: ChildStarted | ChildMessaged | ChildWaiting | ChildAnswered | ChildFinished) -> State:
    match event:
        case ChildMessaged():
            return replace(state, ledger=ledger.child_messaged(state.ledger, event))
        case ChildStarted():
            return replace(state, ledger=ledger.child_started(state.ledger, event))
        case ChildWaiting():
            return replace(state, ledger=ledger.child_waiting(state.ledger, event))
        case ChildAnswered():
            return replace(state, ledger=ledger.child_answered(state.ledger, event))
        case ChildFinished():
            kept = ledger.child_finished(state.ledger, event)
            if kept is state.ledger:
                return state
            here = turns.with_labels(state.branch, event.labels)
            more = ledger.steps_of(state.ledger, event)
            return replace(state, branch=replace(here, steps=here.steps + more), ledger=kept)


def _seen(state: State, prompt: SystemPromptEvent) -> Seen:
    """Return the place of the instructions in a view, measured with all offered tools."""
    return as_seen(replace(prompt, tools=state.tools) if state.servers else prompt)


def _prompted(state: State) -> State:
    """Return the state with the current instructions in its view."""
    if state.prompt is None:
        return state
    here = state.branch
    return replace(state, branch=with_view(here, prompted(here.view, _seen(state, state.prompt))))


def _rewound(state: State, event: HeadMoved) -> State:
    """Go back to the last checkpoint at or before `event.to`, whichever branch was active then."""
    back = checkpoint(state, event.to)
    if state.prompt is not None and back.seq:  # a fork's instructions may differ from those of its parent
        view = prompted(back.branch.view, _seen(state, state.prompt))
        back = back if view is back.branch.view else replace(back, branch=with_view(back.branch, view))
    kept = ledger.children_lost(state.ledger)
    return replace(
        state,
        branch=back.branch,
        answer=back.answer,
        ledger=replace(kept, restoring=back.seq) if event.files else kept,
        error=None,
        rewound=event.seq,
        checkpoints=state.checkpoints.append(replace(back, seq=event.seq)),
    )
