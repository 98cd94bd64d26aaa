"""`Recording`: a log as the results of each performer, with their times. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from ..actors.critic import GOAL
from ..context.dispatching import meant
from ..decisions import Condense, Judge, decide
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    BudgetReserved,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    Condensation,
    ContextResolved,
    ConversationCreated,
    ConversationErrorEvent,
    CriticAssessed,
    Event,
    ExecutionLost,
    ExecutionStarted,
    HookExecutionEvent,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ObservationEvent,
    RiskAssessed,
    SkillActivated,
    SystemPromptEvent,
    ToolsChanged,
    UserRejectObservation,
)
from ..hooks import HookResult
from ..specs import Agent, HookEvent, OnCrash, ToolDefinition
from ..specs.agent import MODEL
from ..specs.content import plain
from ..state import State, apply
from .calls import Call, Checked, Replies, failure, verdict
from .handovers import handed_over
from .origins import Origin, Origins, is_judging

Tried: TypeAlias = BudgetReserved | ModelCallRetried | ModelCalled
Judged: TypeAlias = CriticAssessed | ConversationErrorEvent
E = TypeVar("E", bound=Event)


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's run that began with event `begun` and ended with event `ended`; None if a crash ended it."""

    begun: int
    ended: int | None = None
    outcome: ObservationEvent | AgentErrorEvent | None = None
    left: int = 0
    """The event at which it stopped because the conversation was left; it is resumed later."""


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """A delegated conversation: its messages, and its outcome, a batch from event `ended` on."""

    begun: int
    waiting: tuple[ChildWaiting, ...] = ()
    ended: int | None = None
    outcome: tuple[Event, ...] = ()


class Hooked(msgspec.Struct, frozen=True):
    """The results of the hooks of an event."""

    event: HookExecutionEvent
    result: HookResult


class Recording:
    """The events of a conversation, with the outputs of its model, tools, hooks and judges.

    Raises `ValueError` if they are not the first events of a log.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        if not events or not isinstance(events[0], ConversationCreated):
            raise ValueError("a recording begins with ConversationCreated")
        self.events = tuple(events)
        self.created: ConversationCreated = events[0]
        first = events[: next((i for i, event in enumerate(events) if event.source == "user"), len(events))]
        self.prompt = next((event for event in first if isinstance(event, SystemPromptEvent)), None)
        self.context = next((event for event in first if isinstance(event, ContextResolved)), None)
        """The agent's context at the beginning."""
        self.agents: list[Agent] = []
        """Every agent so far: the conversation's, those of forks on the way to it, and those after each change."""
        self.by_seq = {event.seq: event for event in events}
        self.definitions: dict[str, ToolDefinition] = {}
        self.calls: list[Call] = []
        self.judgements: list[Call] = []
        """The calls of a goal's judge."""
        self.executions: dict[str, list[Execution]] = {}
        self.delegations: dict[tuple[int, int], Delegation] = {}
        """By the seq of the action, and the attempt."""
        self.attended: dict[int, Delegation] = {}
        """Background delegations, by the seq of the action."""
        self._attended: dict[str, int] = {}
        self.checked: dict[tuple[str, bytes], Checked] = {}
        """By tool and arguments."""
        self._ratings: dict[int, list[RiskAssessed]] = {}
        self._hooked: dict[tuple[HookEvent, int], list[Hooked]] = {}
        self._judged: dict[str, list[Judged]] = {}
        self._condensed: list[Event] = []
        self._origins = Origins(events)
        self._seqs: dict[str, int] = {}
        self._actions: dict[str, ActionEvent] = {}
        self._running: dict[str, tuple[str, int]] = {}
        self._delegated: dict[str, tuple[int, int]] = {}
        self._children: dict[str, str] = {}
        self._judging: dict[str, int] = {}
        self._interrupts: list[int] = []
        """The seqs of the interrupts."""
        self.handovers: dict[int, int] = {}
        """The number of events that another process logged first, by the seq of the first of them."""
        closed, state = 0, State()
        for index, event in enumerate(events):
            self._seqs[event.id] = event.seq
            if index >= closed and (others := handed_over(state, events[index:])):
                self.handovers[event.seq] = others
                closed = index + others
            before, state = state, apply(state, event)
            if state.agent is not None and state.agent is not before.agent:
                self.agents.append(state.agent)
            if index >= closed:
                self._take(index, event, before, state)
            else:
                self._lost(event)

    def from_outside(self, event: Event) -> bool:
        """Return whether an event must be inserted again, at its place."""
        return self._origins.of(event) is Origin.OUTSIDE or self._was_left(event)

    def _was_left(self, event: Event) -> bool:
        """Return whether a call ended because the conversation was left; it is resumed later."""
        if not isinstance(event, ExecutionLost) or (action := self._actions.get(event.action_id)) is None:
            return False
        tool = self.definitions.get(action.tool_name)
        return tool is not None and tool.on_crash is OnCrash.RESUME

    def rating(self, action_seq: int, after: int) -> RiskAssessed | None:
        """Return the next rating of an action, after event `after`."""
        return _next(self._ratings.get(action_seq, []), after)

    def hooked(self, event: HookEvent, target_seq: int, after: int) -> Hooked | None:
        """Return the next results of the hooks of an event, for the action or message with that seq (0: for none)."""
        found = self._hooked.get((event, target_seq), [])
        return next((hooked for hooked in found if hooked.event.seq > after), None)

    def judged(self, critic: str, after: int) -> Judged | None:
        """Return the next result or failure of a critic, or a goal's judge."""
        return _next(self._judged.get(critic, []), after)

    def interrupted(self, after: int, before: int) -> bool:
        """Return whether there was an interrupt between two events."""
        return any(after < seq < before for seq in self._interrupts)

    def condensed(self, after: int) -> Event | None:
        """Return the result of the next condensation."""
        return _next(self._condensed, after)

    def seq_of(self, name: str) -> int:
        """Return the seq of an event, or of its replacement in a view, by its id."""
        return self._seqs[name.removesuffix("-summary")]

    def activated(self, skill: str, cause_seq: int, after: int) -> tuple[Event, ...]:
        """Return the next outcome of a skill that this message or action activates: the calls of its commands, or its
        text.
        """
        cause = self.by_seq[cause_seq].id

        def is_of(event: Event) -> bool:
            match event:
                case ActionEvent() | SkillActivated():
                    return event.skill == skill and event.caused_by == cause
                case ObservationEvent() | AgentErrorEvent():
                    return event.action_id == cause
                case _:
                    return False

        events = self.events[after:]
        first = next((place for place, event in enumerate(events) if is_of(event)), len(events))
        return tuple(takewhile(is_of, events[first:]))

    def _lost(self, event: Event) -> None:
        """Record that another process closed a performer's work, so that it has no outcome."""
        if isinstance(event, ExecutionLost | AgentErrorEvent):
            self._running.pop(event.action_id, None)
            self._delegated.pop(event.action_id, None)

    def _take(self, index: int, event: Event, before: State, state: State) -> None:
        match event:
            case SystemPromptEvent() | ToolsChanged():
                self.definitions.update({tool.name: tool for tool in (*event.tools, *state.searching)})
                self._replies = Replies(_rated(self.created.agent, self.definitions))
            case InterruptEvent():
                self._interrupts.append(event.seq)
            case ModelCallStarted():
                self.calls.append(Call(begun=event.seq, view=state.branch.view))
            case BudgetReserved() | ModelCallRetried() | ModelCalled():
                self._tried(index, event, before)
            case ActionEvent():
                self._actions[event.id] = event
            case ActionRevised():
                action = self._actions[event.action_id]
                resources = action.resources if event.resources is None else event.resources
                self.checked[action.tool_name, bytes(event.arguments_json)] = Checked(resources, None)
            case RiskAssessed():
                self._ratings.setdefault(self._seqs[event.action_id], []).append(event)
            case HookExecutionEvent():
                key = event.hook_event, self._seqs.get(event.target, 0)
                self._hooked.setdefault(key, []).append(_hooked(event, self.events[index + 1 :]))
            case CriticAssessed():
                self._judged.setdefault(event.critic, []).append(event)
            case Condensation():
                self._condensed.append(event)
            case ConversationErrorEvent():
                self._failed(event, before)
            case _:
                self._executed(event)

    def _failed(self, event: ConversationErrorEvent, before: State) -> None:
        """Record the error of a critic or of a condensation, which the event does not name."""
        if any(isinstance(command, Condense) for command in decide(before)):
            self._condensed.append(event)
        else:
            for command in decide(before):
                if isinstance(command, Judge) and not command.midway:
                    critic = before.spec.critic if command.critic != GOAL else None
                    self._judged.setdefault(critic.name if critic is not None else GOAL, []).append(event)

    def _tried(self, index: int, event: Tried, before: State) -> None:
        if before.branch.call == event.command:
            call = self.calls[-1]
            if isinstance(event, ModelCalled):
                self.calls[-1] = self._called(call, index, event, cut=before.branch.cut)
            else:
                self.calls[-1] = replace(call, tries=(*call.tries, event))
        elif is_judging(event.command):
            if event.command not in self._judging:
                self._judging[event.command] = len(self.judgements)
                cut = isinstance(event, ModelCalled) and event.error == "interrupted"
                self.judgements.append(Call(begun=(self._interrupts[-1] if cut else event.seq) - 1))
            number = self._judging[event.command]
            call = self.judgements[number]
            if isinstance(event, ModelCalled):
                self.judgements[number] = self._judge_called(call, index, event)
            else:
                self.judgements[number] = replace(call, tries=(*call.tries, event))

    def _judge_called(self, call: Call, index: int, called: ModelCalled) -> Call:
        call = replace(call, ended=called.seq, called=called)
        if called.error == "interrupted":
            return call
        judged = next((event for event in self.events[index + 1 :] if isinstance(event, Judged)), None)
        return replace(call, outcome=verdict(called, judged))

    def _called(self, call: Call, index: int, called: ModelCalled, *, cut: bool) -> Call:
        before, following = self.events[index - 1], self.events[index + 1 :]
        call = replace(call, ended=called.seq, called=called)
        if isinstance(before, MessageEvent) and before.partial and before.caused_by == called.command:
            call = replace(call, ended=before.seq, shown=plain(before.content))
        if cut or called.error == "interrupted":
            return call
        if called.error is not None:
            return replace(call, outcome=failure(called.error, following))
        reply, checked = self._replies.reply(called, following)
        for event in following:
            if isinstance(event, ActionEvent) and event.id in checked:
                self._check(event, checked[event.id])
        return replace(call, outcome=reply)

    def _check(self, action: ActionEvent, checked: Checked) -> None:
        """Record the result of checking the arguments, except for arguments that no tool could read."""
        call = self._replies.asked(action)
        if action.malformed is None or meant(call, tuple(self.definitions.values())).call.problem is None:
            self.checked[action.tool_name, bytes(action.arguments_json)] = checked

    def _executed(self, event: Event) -> None:
        match event:
            case ExecutionStarted():
                action = self._actions[event.action_id]
                if self.definitions[action.tool_name].delegates:
                    key = self._delegated[event.action_id] = (action.seq, event.attempt)
                    self.delegations[key] = Delegation(begun=event.seq)
                else:
                    runs = self.executions.setdefault(action.tool_name, [])
                    self._running[event.action_id] = (action.tool_name, len(runs))
                    runs.append(Execution(begun=event.seq))
            case ChildStarted(background=True):
                self._attended[event.child_id] = self._actions[event.action_id].seq
                self.attended[self._actions[event.action_id].seq] = Delegation(begun=event.seq)
            case ChildStarted():
                self._attended.pop(event.child_id, None)
                self._children[event.child_id] = event.action_id
            case ChildWaiting(child_id=child_id) if (seq := self._attended.get(child_id)) is not None:
                known = self.attended[seq]
                self.attended[seq] = replace(known, waiting=(*known.waiting, event))
            case ChildFinished(child_id=child_id) if (seq := self._attended.get(child_id)) is not None:
                self.attended[seq] = replace(self.attended[seq], ended=event.seq, outcome=(event,))
                self._attended.pop(child_id)
            case ChildWaiting():
                of = self._delegated.get(self._children.get(event.child_id, ""))
                if of is not None:
                    known = self.delegations[of]
                    self.delegations[of] = replace(known, waiting=(*known.waiting, event))
            case ChildFinished():
                self._reported(self._children.get(event.child_id, ""), event, last=False)
            case ExecutionLost() | ObservationEvent() | AgentErrorEvent():
                self._reported(event.action_id, event, last=True)
                if event.action_id in self._running:
                    tool, number = self._running.pop(event.action_id)
                    runs = self.executions[tool]
                    if isinstance(event, ExecutionLost):
                        runs[number] = replace(runs[number], left=event.seq)
                    else:
                        runs[number] = Execution(begun=runs[number].begun, ended=event.seq, outcome=event)
            case _:
                pass

    def _reported(self, action_id: str, event: Event, *, last: bool) -> None:
        """Record the outcome of a delegation, if the event is about one."""
        key = self._delegated.pop(action_id, None) if last else self._delegated.get(action_id)
        if key is not None:
            known = self.delegations[key]
            ended = event.seq if known.ended is None else known.ended
            self.delegations[key] = replace(known, ended=ended, outcome=(*known.outcome, event))


def _next(events: Sequence[E], after: int) -> E | None:
    return next((event for event in events if event.seq > after), None)


def _rated(agent: Agent, definitions: dict[str, ToolDefinition]) -> dict[str, ToolDefinition]:
    """Return the tools whose calls the model rates."""
    if MODEL not in agent.analyzers:
        return {}
    return {name: definition for name, definition in definitions.items() if not definition.annotations.read_only}


def _hooked(event: HookExecutionEvent, following: Sequence[Event]) -> Hooked:
    """Return the results of hooks, with their rewriting and their messages, which are separate events."""
    arguments, words = None, []
    for later in following:
        match later:
            case ActionRevised() if later.caused_by == event.id:
                arguments = later.arguments_json
            case MessageEvent(source="hook") if later.caused_by == event.id:
                words.append(plain(later.content))
            case UserRejectObservation() if later.caused_by == event.id:
                pass
            case _:
                break
    if event.hook_event is HookEvent.STOP and event.reason in words:
        words.remove(event.reason)  # what the agent is told of a denial comes from the verdict
    context = "\n\n".join(words)
    name = event.by or ""
    result = HookResult(verdict=event.verdict, reason=event.reason, arguments=arguments, context=context, name=name)
    return Hooked(event, result)
