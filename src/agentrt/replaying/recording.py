"""`Recording`: a log as what each performer gave, and when. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ..context.messages import ToolCall
from ..context.repair import CUT, repaired
from ..context.replies import ModelReply
from ..errors import ContextWindowExceeded, ModelError
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    BudgetReserved,
    CondensationRequest,
    ConversationCreated,
    ConversationErrorEvent,
    Event,
    ExecutionLost,
    ExecutionStarted,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ObservationEvent,
    RiskAssessed,
    SystemPromptEvent,
)
from ..specs import ToolDefinition
from ..specs.content import plain
from ..state import Seen, State, apply


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A model call: begun with event `begun`, its outcome from event `ended` on; without one, a crash ended it."""

    begun: int
    view: Sequence[Seen]
    ended: int | None = None
    outcome: ModelReply | ModelError | None = None
    """None when the call was cut."""
    shown: str = ""
    """What had streamed in of a call that was cut, or that failed."""
    tries: tuple[BudgetReserved | ModelCallRetried, ...] = ()


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's run: begun with event `begun`; its outcome is event `ended`, unless a crash ended it."""

    begun: int
    ended: int | None = None
    outcome: ObservationEvent | AgentErrorEvent | None = None


class Checked(msgspec.Struct, frozen=True):
    """What a call's arguments came to when its reply was logged: the resources, or why it cannot run."""

    resources: tuple[str, ...]
    problem: str | None


class Recording:
    """The events of a conversation, and what its model, tools and analyzer gave in them.

    Raises `ValueError` when they are not the events of a log from its first one on.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        if not events or not isinstance(events[0], ConversationCreated):
            raise ValueError("a recording begins with ConversationCreated")
        self.events = tuple(events)
        self.created: ConversationCreated = events[0]
        self.agents = [event.agent for event in events if isinstance(event, ConversationCreated)]
        """That of the conversation, and of each fork on the way to it."""
        self.by_seq = {event.seq: event for event in events}
        self.definitions: dict[str, ToolDefinition] = {}
        self.calls: list[Call] = []
        self.executions: dict[str, list[Execution]] = {}
        self.ratings: dict[int, list[RiskAssessed]] = {}
        self.checked: dict[tuple[str, bytes], Checked] = {}
        """By tool and arguments."""
        self._actions: dict[str, ActionEvent] = {}
        self._called_ids: set[str] = set()
        self._running: dict[str, tuple[str, int]] = {}
        state = State()
        for index, event in enumerate(events):
            before, state = state, apply(state, event)
            self._take(index, event, before, state)

    def _take(self, index: int, event: Event, before: State, state: State) -> None:
        match event:
            case SystemPromptEvent():
                self.definitions.update({definition.name: definition for definition in event.tools})
            case ModelCallStarted():
                self.calls.append(Call(begun=event.seq, view=state.branch.view))
            case BudgetReserved() | ModelCallRetried() if state.branch.call == event.command:
                self.calls[-1] = replace(self.calls[-1], tries=(*self.calls[-1].tries, event))
            case ModelCalled() if before.branch.call == event.command and event.error not in _LOST:
                self._called_ids.add(event.id)
                self.calls[-1] = self._called(index, event, cut=before.branch.cut)
            case ActionEvent():
                self._actions[event.id] = event
            case RiskAssessed():
                self.ratings.setdefault(self._actions[event.action_id].seq, []).append(event)
            case ExecutionStarted():
                tool = self._actions[event.action_id].tool_name
                runs = self.executions.setdefault(tool, [])
                self._running[event.action_id] = (tool, len(runs))
                runs.append(Execution(begun=event.seq))
            case ExecutionLost():
                self._running.pop(event.action_id, None)
            case ObservationEvent() | AgentErrorEvent():
                self._resulted(event)
            case _:
                pass

    def _resulted(self, event: ObservationEvent | AgentErrorEvent) -> None:
        if event.action_id in self._running:
            tool, number = self._running.pop(event.action_id)
            runs = self.executions[tool]
            runs[number] = Execution(begun=runs[number].begun, ended=event.seq, outcome=event)

    def _called(self, index: int, called: ModelCalled, *, cut: bool) -> Call:
        call, before = self.calls[-1], self.events[index - 1]
        if isinstance(before, MessageEvent) and before.partial and before.caused_by == called.command:
            call = replace(call, ended=before.seq, shown=plain(before.content))
        else:
            call = replace(call, ended=called.seq)
        if cut or called.error == "interrupted":
            return call
        outcome = self._failure(index, called.error) if called.error is not None else self._reply(index, called)
        return replace(call, outcome=outcome)

    def _failure(self, index: int, code: str) -> ModelError:
        why = self.events[index + 1] if index + 1 < len(self.events) else None
        match why:
            case CondensationRequest(reason=reason):
                return ContextWindowExceeded(reason)
            case ConversationErrorEvent():
                error = ModelError(why.detail)
                error.code, error.retryable = code, why.retryable
                return error
            case _:
                return ModelError(f"the call failed: {code}")

    def _reply(self, index: int, called: ModelCalled) -> ModelReply:
        reply = ModelReply(
            response_id=called.llm_response_id or called.id,
            usage=called.usage,
            cost=called.cost,
            model=called.model,
            usage_id=called.usage_id,
        )
        actions: dict[str, ActionEvent] = {}
        for event in self.events[index + 1 :]:
            match event:
                case ActionEvent() if event.llm_response_id == called.llm_response_id:
                    if not actions:
                        reply = replace(reply, text=event.thought, reasoning=event.reasoning, thinking=event.thinking)
                    reply = replace(reply, tool_calls=(*reply.tool_calls, _asked(event)))
                    actions[event.id] = event
                    self._check(event, None)
                case AgentErrorEvent() if event.action_id in actions:
                    self._check(actions[event.action_id], event.error)
                    if event.error == CUT:
                        reply = replace(reply, finish_reason="length")
                case MessageEvent(source="agent") if event.llm_response_id == called.llm_response_id:
                    said = plain(event.content)
                    return replace(reply, text=said, reasoning=event.reasoning, thinking=event.thinking)
                case MessageEvent(source="environment", caused_by=cause) if cause == called.id:
                    reply = replace(reply, complaint=plain(event.content))
                case _:
                    break
        return reply

    def _check(self, action: ActionEvent, problem: str | None) -> None:
        """Note what the arguments came to, but for such as could not be read, whatever the tool."""
        if action.malformed is None or repaired(_asked(action), tuple(self.definitions.values())).problem is None:
            self.checked[action.tool_name, bytes(action.arguments)] = Checked(action.resources, problem)

    def by_a_person(self, event: Event) -> bool:
        """Whether an event came from outside of the runtime."""
        if isinstance(event, MessageEvent):
            complaint = event.source == "environment" and event.caused_by in self._called_ids
            return event.source != "agent" and not complaint
        return type(event).__name__ in _BY_A_PERSON


def _asked(action: ActionEvent) -> ToolCall:
    """The call as the model sent it."""
    given = bytes(action.arguments).decode() if action.malformed is None else action.malformed
    return ToolCall(action.tool_call_id, action.asked_as or action.tool_name, given)


_LOST = ("crashed", "forked")
"""What is said of a model call that another process, or a fork, found open."""

_BY_A_PERSON = frozenset(
    {
        "RunRequested",
        "PauseEvent",
        "InterruptEvent",
        "ConfirmationGiven",
        "UserRejectObservation",
        "HeadMoved",
        "BudgetGranted",
        "ActionRevised",
        "DurabilityChanged",
        "ConversationStateUpdateEvent",
        "ChildStarted",
        "ChildFinished",
    }
)
