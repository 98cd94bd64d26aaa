"""`Call`: a recorded model call, with the output of the model. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ..context.messages import ToolCall, sent
from ..context.repair import CUT
from ..context.replies import ModelReply
from ..errors import ContextWindowExceeded, ModelError
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    BudgetReserved,
    CondensationRequest,
    ConversationErrorEvent,
    CriticAssessed,
    Event,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
)
from ..specs import ToolDefinition
from ..specs.content import plain
from ..state import Seen

JUDGED_WITHOUT = "the work could not be judged: "
"""The prefix of a judge's error."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that began with event `begun` and ended with event `ended`; None if a crash ended it."""

    begun: int
    view: Sequence[Seen] = ()
    """The messages of the agent's own call; a judge's messages are not compared."""
    ended: int | None = None
    called: ModelCalled | None = None
    outcome: ModelReply | ModelError | None = None
    """None if the call was interrupted."""
    shown: str = ""
    """The text that had streamed in from a call that was interrupted or failed."""
    tries: tuple[BudgetReserved | ModelCallRetried, ...] = ()

    @property
    def last(self) -> int:
        """The last known seq of the call."""
        tried = self.tries[-1].seq if self.tries else self.begun
        return tried if self.ended is None else self.ended


class Checked(msgspec.Struct, frozen=True):
    """The result of checking a call's arguments when its reply was logged: the resources, or why it cannot run."""

    resources: tuple[str, ...]
    problem: str | None


class Replies:
    """Reconstructs replies from their events; `rated` are the tools whose calls the model itself rates."""

    def __init__(self, rated: Mapping[str, ToolDefinition]) -> None:
        self._rated = rated

    def asked(self, action: ActionEvent) -> ToolCall:
        """Return the call as the model sent it."""
        name = action.asked_as or action.tool_name
        if action.malformed is not None:
            return ToolCall(action.tool_call_id, action.through or name, action.malformed)
        given = bytes(action.arguments_json).decode()
        if action.tool_name in self._rated:
            rating = {"security_risk": action.security_risk.value, "summary": action.summary}
            given = msgspec.json.encode(msgspec.json.decode(action.arguments_json) | rating).decode()
        return ToolCall(action.tool_call_id, *sent(name, given, action.through))

    def reply(self, called: ModelCalled, following: Sequence[Event]) -> tuple[ModelReply, dict[str, Checked]]:
        """Return the reply of a call, from the events after its end, and the result of each of its actions by id."""
        reply = _answered(called)
        checked: dict[str, Checked] = {}
        for event in following:
            match event:
                case ActionEvent() if event.llm_response_id == called.llm_response_id:
                    if not checked:
                        reply = replace(reply, text=event.thought, reasoning=event.reasoning, thinking=event.thinking)
                    reply = replace(reply, tool_calls=(*reply.tool_calls, self.asked(event)))
                    checked[event.id] = Checked(event.resources, None)
                case AgentErrorEvent() if event.action_id in checked:
                    checked[event.action_id] = Checked((), event.error)
                    if event.error == CUT:
                        reply = replace(reply, finish_reason="length")
                case MessageEvent(source="agent") if event.llm_response_id == called.llm_response_id:
                    said = plain(event.content)
                    reply = replace(reply, text=said, reasoning=event.reasoning, thinking=event.thinking)
                    break
                case MessageEvent(source="environment", caused_by=cause) if cause == called.id:
                    reply = replace(reply, complaint=plain(event.content))
                case _:
                    break
        return reply, checked


def failure(code: str, following: Sequence[Event]) -> ModelError:
    """Return the error that ended the agent's own call, from the events after its end."""
    why = following[0] if following else None
    match why:
        case CondensationRequest(reason=reason):
            return ContextWindowExceeded(reason)
        case ConversationErrorEvent():
            return model_error(why, why.detail)
        case _:
            return _failed(code, f"the call failed: {code}")


def model_error(event: ConversationErrorEvent, words: str) -> ModelError:
    """Return the model error that an event reports."""
    error = _failed(event.code, words)
    error.retryable = event.retryable
    return error


def _failed(code: str, words: str) -> ModelError:
    error = ModelError(words)
    error.code = code
    return error


def verdict(called: ModelCalled, judged: CriticAssessed | ConversationErrorEvent | None) -> ModelReply | ModelError:
    """Return a judge's answer, derived from its result, because its text is not logged."""
    if called.error is None:
        said = {}
        if isinstance(judged, CriticAssessed):
            said = {"score": judged.score, "complete": judged.success, "missing": judged.message}
        return replace(_answered(called), text=msgspec.json.encode(said).decode())
    if isinstance(judged, ConversationErrorEvent) and judged.code == called.error:
        return model_error(judged, judged.detail.removeprefix(JUDGED_WITHOUT))
    return _failed(called.error, called.error)


def _answered(called: ModelCalled) -> ModelReply:
    return ModelReply(
        response_id=called.llm_response_id or called.id,
        usage=called.usage,
        cost=called.cost,
        model=called.model,
        usage_id=called.usage_id,
    )
