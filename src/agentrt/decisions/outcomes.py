"""Outcomes: which batches the log accepts, and the events that close work that was cut off, lost or left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..errors import ConversationBusy, EventRefused
from ..events import (
    DIED_REASON,
    ActionEvent,
    AgentErrorEvent,
    BudgetReserved,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    CommandEnded,
    ConversationCreated,
    ConversationErrorEvent,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStatus,
    Grant,
    HeadMoved,
    InputGiven,
    InputRequested,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
    PauseEvent,
    RunEnded,
    RunRequested,
    SystemPromptEvent,
    UserRejectObservation,
)
from ..ledger import A_MISCOUNT, Child, allowance, fits
from ..specs import BusyPolicy, Durability, OnCrash, ToolDefinition
from ..specs.content import text
from ..specs.llm import members, named
from ..state import State
from ..usage import Usage
from .beginnings import beginning
from .commands import End
from .due import decide
from .ending import idle
from .losses import asleep, left_by_crash
from .naming import attending_id
from .sharing import used_steps

LOGGED = 10_000
"""Maximum number of characters that the log has of each output of a command."""

SHOWN = 200
"""Maximum number of characters of a command that the model is told."""


def refusal(state: State, events: Sequence[Event], command: str | None) -> str | None:
    """Return the id of `command` if its outcome comes too late, since the command is no longer due; else None."""
    if command is None:
        return None
    for child in state.background.values():
        if attending_id(child) == command:  # it may report its end at any time, once it has all messages
            heard = [event.heard for event in events if isinstance(event, ChildFinished)]
            return command if heard and heard[0] < len(child.messages) and not child.cut else None
    if command in state.in_flight:
        cut = state.branch.cut and any(isinstance(e, ActionEvent) for e in events)
        return command if cut else None
    if state.status is ExecutionStatus.PAUSED:  # running work may end
        state = replace(state, status=ExecutionStatus.RUNNING)
    return None if any(due.id == command for due in decide(state)) else command


def _first(state: State) -> int:
    """Return the seq of the first event to rewind to: the instructions, also if a fork shares them."""
    return next((checkpoint.seq for checkpoint in state.checkpoints if len(checkpoint.branch.view)), 1)


def wanted(state: State, events: Sequence[Event]) -> Sequence[Event]:
    """Return the events of a batch that were not received before, and are still true. A run of an idle agent with
    nothing to do ends in the same batch, and leaves the agent idle.
    """
    fresh = [event for event in events if event.id not in state.ledger.message_ids and not _overtaken(state, event)]
    match fresh:
        case [RunRequested(implied=False)] if state.status is ExecutionStatus.IDLE and idle(state):
            return (*fresh, RunEnded(status=ExecutionStatus.IDLE, reason="nothing_to_do"))
        case _:
            return fresh


def overtaken(above: State, child_id: str, status: ExecutionStatus) -> bool:
    """Return whether a pause came before the delegating conversation could hear that a resting child runs. It is not
    told then, since it would leave its rest: the child is paused too, and tells when it rests again.
    """
    known = above.ledger.children.get(child_id)
    rests = known is not None and known.status is not ExecutionStatus.RUNNING
    return rests and status is ExecutionStatus.RUNNING and not above.status.at_work


def _overtaken(state: State, event: Event) -> bool:
    if not isinstance(event, ChildWaiting) or event.spending is not None:
        return False
    return overtaken(state, event.child_id, event.status)


def check(state: State, events: Sequence[Event]) -> None:
    """Check the invariants of the history. Raises `EventRefused` if `events` would break one."""
    called = {p.action.id for p in state.branch.pending}
    at_work = {p.action.id for p in state.branch.pending if p.command is not None}
    for event in events:
        match event:
            case ActionEvent(within=str(within)) if state.branch.cut or within not in at_work:
                raise EventRefused("an action that does not run calls nothing")
            case ActionEvent():
                called.add(event.id)
            case ObservationEvent() | UserRejectObservation() | AgentErrorEvent():
                if event.action_id not in called:
                    raise EventRefused(f"action {event.action_id!r} has a result already, or was never asked for")
                called.remove(event.action_id)
            case InputRequested() if event.action_id not in at_work:
                raise EventRefused("an action that does not run asks nothing")
            case InputGiven() if event.request_id not in {asked.id for asked in state.branch.inputs}:
                raise EventRefused("this was answered already, or it is no longer open")
            case BudgetReserved() if not fits(event, allowance(state.ledger, state.spec.limits, event.command)):
                raise EventRefused("the budget was reserved for something else first")
            case ChildStarted(grant=grant) if not _may_grant(state, grant):
                raise EventRefused("the budget was granted to something else first")
            case MessageEvent() if state.prompt is None:
                raise EventRefused("a system prompt must precede the first message")
            case HeadMoved() if state.in_flight or state.status is ExecutionStatus.RUNNING or _at_work_below(state):
                raise EventRefused("a conversation that runs cannot be rewound: interrupt it first")
            case HeadMoved() if not _first(state) <= event.to <= state.seq:
                raise EventRefused(f"no event {event.to} to rewind to: there are {_first(state)} to {state.seq}")
            case _:
                pass


def _at_work_below(state: State) -> bool:
    return any(child.status is ExecutionStatus.RUNNING for child in state.background.values())


def _may_grant(state: State, grant: Grant) -> bool:
    """Return whether enough is left for a grant."""
    left, limits = allowance(state.ledger, state.spec.limits), state.spec.limits
    steps = grant.steps is None or used_steps(state) + grant.steps <= limits.max_steps
    cost = left.cost is None or (grant.cost or 0.0) <= left.cost + A_MISCOUNT
    return steps and cost and (left.tokens is None or (grant.tokens or 0) <= left.tokens)


def said(state: State, message: MessageEvent, busy: BusyPolicy | None = None) -> tuple[Event, ...]:
    """Return the batch for a user's message. If the agent is at work, the policy `busy` decides, or else the agent's.

    Raises `ConversationBusy` if the policy rejects the message.
    """
    policy = (state.agent.busy if state.agent is not None else BusyPolicy.ENQUEUE) if busy is None else busy
    if not state.status.at_work or message.id in state.ledger.message_ids:
        return (message,)
    waits = state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    if waits and state.background and not state.branch.pending and policy is not BusyPolicy.REJECT:
        return (InterruptEvent(reason="a message", goes_on=True), message)  # only background tasks wait
    match policy:
        case BusyPolicy.ENQUEUE:
            return (message,)
        case BusyPolicy.REJECT:
            raise ConversationBusy
        case BusyPolicy.STEER if state.branch.call is None:
            return (message,)
        case BusyPolicy.STEER:
            return (InterruptEvent(reason="steered by a message", goes_on=True), message)
        case BusyPolicy.INTERRUPT:
            cut = InterruptEvent(reason="interrupted by a message", goes_on=True)
            return (cut, *unfinished(state, "the user said something else."), message)


def unfinished(state: State, reason: str) -> tuple[Event, ...]:
    """Return the events that close the actions that an interrupt keeps from starting."""
    return tuple(
        action_error(p.action, f"{'Without a result' if p.awaited else 'Not run'}: {reason}")
        for p in state.branch.pending
        if p.command is None
    )


def without_results(state: State, now: float) -> tuple[Event, ...]:
    """Return the events that close the actions whose results did not come in time; `now` is in seconds since 1970."""
    return tuple(
        replace(
            action_error(p.action, "The client gave no result in time: whether it took effect is unknown."),
            by="deadline",
        )
        for p in state.branch.pending
        if p.awaited and 0 < p.expires <= now
    )


def interruption(state: State, reason: str, by: str | None = None) -> tuple[Event, ...]:
    """Return the batch that an interrupt logs: the intent, a result for every action that never started, and the end of
    the background conversations that do not run.
    """
    detail = "the user interrupted." if not reason else f"the user interrupted: {reason}"
    return (InterruptEvent(reason=reason, by=by), *unfinished(state, detail), *_given_up(state, "was interrupted"))


def expiry(state: State, seconds: float) -> tuple[Event, ...]:
    """Return the batch that ends a run at its time limit; empty if the run has ended by itself."""
    if state.status is not ExecutionStatus.RUNNING:
        return ()
    detail = f"the run took {seconds:g} s, its limit: run again to go on, or raise Limits.max_seconds"
    cut = InterruptEvent(source="environment", reason="max_seconds")
    closed = unfinished(state, "the run had reached its limit of time.")
    return (cut, *closed, ConversationErrorEvent(code="max_seconds", detail=detail, caused_by=cut.id))


def lost(state: State, command: str, why: str) -> tuple[Event, ...]:
    """Return the outcome of a command whose performer failed, by the kind of command.

    A model call counts with all that was reserved for it, since it may have used that.
    """
    if command == state.branch.call or command in state.ledger.reserved:
        return (_lost_call(state, command, why),)
    return tuple(action_error(p.action, why) for p in state.branch.pending if p.command == command)


def _lost_call(state: State, command: str, why: str) -> ModelCalled:
    llm, reserved = state.spec.llm, state.ledger.reserved.get(command)
    ended = ModelCalled(command=command, model=named(llm), error=why, usage_id=members(llm)[0].usage_id)
    if reserved is None:
        return ended
    used = Usage(prompt_tokens=reserved.tokens)
    return replace(ended, usage=used, cost=reserved.cost, usage_id=reserved.usage_id, estimated=True)


def recovery(state: State, *, ended: bool = True) -> tuple[Event, ...]:
    """Return the first batch after a crash: it closes what the dead process left open. Empty if it left nothing open.

    `ended` says whether the processes that its commands had started were ended since.
    """
    events: list[Event] = []
    if state.durability is not Durability.COMMIT:
        events.append(DurabilityChanged(durability=Durability.COMMIT, epoch=state.epoch + 1))
    definitions = _definitions(state)
    calls = [*state.ledger.reserved]
    if (call := state.branch.call) is not None and call not in calls:
        calls.append(call)
    events.extend(_lost_call(state, command, "crashed") for command in calls)
    for p in state.branch.pending:
        if p.command is None:
            continue
        definition = definitions.get(p.action.tool_name)
        match definition.on_crash if definition else OnCrash.ASK:
            case OnCrash.RETRY | OnCrash.RESUME if state.branch.cut:
                events.append(action_error(p.action, "Interrupted: the process died before it had ended."))
            case OnCrash.RETRY | OnCrash.RESUME:
                events.append(ExecutionLost(action_id=p.action.id, caused_by=p.action.id))
            case OnCrash.FAIL:
                events.append(action_error(p.action, f"{DIED} while this ran. It failed."))
            case OnCrash.ASK:
                text = f"{DIED} while this ran: whether it took effect is unknown. Check before you repeat it."
                events.append(action_error(p.action, text))
    events.extend(_left_below(state))
    events.extend(left_running(state))
    events.extend(left_by_crash(state, ended=ended))
    if ends := [command for command in decide(state) if isinstance(command, End)]:
        events += beginning(ends[0])  # the end itself was cut off
    elif state.status is ExecutionStatus.RUNNING or state.in_flight:
        events.append(PauseEvent(source="environment", reason=DIED_REASON))
    return tuple(events)


def told_of(command: str, ended: CommandEnded) -> tuple[Event, ...]:
    """Return the end of a command with the line that tells the model of it."""
    if ended.lost:
        how = "the process died meanwhile: whether it took effect is unknown"
    elif ended.timeout_occurred:
        how = f"ended by its time limit after {ended.duration:g} s"
    elif ended.stopped:
        how = "stopped before its end"
    else:
        how = f"exit code {ended.exit_code}"
    shown = " ".join(command.split())
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    line = f"[The user ran a command in the workspace: {shown} ({how})]"
    return (ended, MessageEvent(content=text(line), caused_by=ended.caused_by))


def left_running(state: State) -> tuple[Event, ...]:
    """Return the end of the commands that ran when the process died."""
    return tuple(
        event
        for started, command in state.ledger.beside.items()
        for event in told_of(command, CommandEnded(exit_code=-1, lost=True, caused_by=started))
    )


def _given_up(state: State, how: str) -> Iterator[Event]:
    """Yield the end of the background conversations that do not run, since they may never go on."""
    for child_id, child in state.background.items():
        if child.status is not ExecutionStatus.RUNNING:
            yield from _ended_below(child_id, child, how)


def _ended_below(child_id: str, child: Child, how: str) -> tuple[Event, Event]:
    used, steps = child.may_have_spent, child.may_have_taken
    ended = ChildFinished(child_id=child_id, status=ExecutionStatus.PAUSED, spending=used, steps=steps)
    words = f"[Task {child_id}, in the background, {how}.]"
    return ended, MessageEvent(content=text(words), caused_by=ended.id)


def _left_below(state: State) -> Iterator[Event]:
    """Yield the events for background conversations after a crash: they go on with the next run, unless they were to
    end. Conversations that hooks began end, too.
    """
    for child_id, child in state.ledger.children.items():
        if child.open and not child.action_id:
            used, steps = child.may_have_spent, child.may_have_taken
            yield ChildFinished(child_id=child_id, status=ExecutionStatus.ERROR, spending=used, steps=steps)
    for child_id, child in state.background.items():
        if child.cut:
            yield from _ended_below(child_id, child, "was interrupted")
        elif child.status is ExecutionStatus.RUNNING:
            yield ExecutionLost(action_id=child.action_id, caused_by=child.action_id)


DIED = "The process died"
"""The beginning of the error of a call that this cut off."""


def forked(state: State, created: ConversationCreated) -> tuple[Event, ...]:
    """Return the first batch of a fork of a conversation in `state`; open work is closed, and not done in the fork."""
    why = "Not run here: the conversation was forked before it ended."
    unspent = replace(state, ledger=replace(state.ledger, reserved={}))
    call = (_lost_call(unspent, state.branch.call, "forked"),) if state.branch.call is not None else ()
    below = (text(f"[Task {name}, in the background, is none of this conversation.]") for name in state.background)
    told = (MessageEvent(content=words) for words in below)
    left = (action_error(p.action, why) for p in state.branch.pending)
    return (created, *call, *left, *asleep(state), *told, *_moved(state, created.workspace.path))


def _moved(state: State, path: str) -> tuple[Event, ...]:
    """Return the events that tell a fork that it works elsewhere, since its past names files of the other workspace."""
    if state.created is None or state.prompt is None or path == (before := state.created.workspace.path):
        return ()
    here = state.prompt.dynamic_context.replace(before, path)
    prompt = SystemPromptEvent(system_prompt=state.prompt.system_prompt, tools=state.prompt.tools, dynamic_context=here)
    said = f"[From here on you work in {path}: a copy of {before}, which is no longer yours.]"
    return (prompt, MessageEvent(content=text(said)))


def _definitions(state: State) -> dict[str, ToolDefinition]:
    return {d.name: d for d in state.tools}


def action_error(action: ActionEvent, text: str) -> AgentErrorEvent:
    """Return the error that tells the model about an action without an observation."""
    return AgentErrorEvent(
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        caused_by=action.id,
        error=text,
    )
