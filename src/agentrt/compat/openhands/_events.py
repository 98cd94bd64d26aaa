"""The events that callbacks get: views of agentrt's events, with the attributes of the OpenHands SDK."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ... import events as native
from ...specs import SecurityRisk
from ._content import Message, TextContent, compat_content
from ._tools import OWN_FIELDS, Action, Observation


@dataclass(frozen=True)
class Event:
    """An event of a conversation; `native` is agentrt's own. Its text is the line that `agentrt show` prints."""

    native: native.Event

    @property
    def id(self) -> str:
        """Its unique id."""
        return self.native.id

    @property
    def source(self) -> str:
        """Who made it: "user", "agent" or "environment"."""
        return self.native.source

    @property
    def timestamp(self) -> datetime:
        """When it was made."""
        return self.native.timestamp

    def __str__(self) -> str:
        return str(self.native)


@dataclass(frozen=True)
class LLMConvertibleEvent(Event):
    """An event that the model sees."""

    def to_llm_message(self) -> Message:
        """Return the message that it is for the model."""
        raise NotImplementedError


@dataclass(frozen=True)
class SystemPromptEvent(LLMConvertibleEvent):
    """The instructions."""

    native: native.SystemPromptEvent

    def to_llm_message(self) -> Message:
        """Return the system message."""
        texts = filter(None, (self.native.system_prompt, self.native.dynamic_context))
        return Message(role="system", content=[TextContent(text=text) for text in texts])


@dataclass(frozen=True)
class MessageEvent(LLMConvertibleEvent):
    """A message of the user, the agent or the environment."""

    native: native.MessageEvent

    @property
    def llm_message(self) -> Message:
        """The message."""
        content = compat_content(self.native.content)
        return Message(role="assistant" if self.native.source == "agent" else "user", content=content)

    def to_llm_message(self) -> Message:
        """Return the message."""
        return self.llm_message


@dataclass(frozen=True)
class _OfCall(LLMConvertibleEvent):
    """A tool call, or an event that answers one."""

    native: native.ActionEvent | native.ObservationEvent | native.UserRejectObservation | native.AgentErrorEvent

    @property
    def tool_name(self) -> str:
        """The name of the tool."""
        return self.native.tool_name

    @property
    def tool_call_id(self) -> str:
        """The id that the model gave to the call."""
        return self.native.tool_call_id


@dataclass(frozen=True)
class ActionEvent(_OfCall):
    """A tool call."""

    native: native.ActionEvent

    @property
    def action(self) -> Action:
        """The arguments, as attributes."""
        return Action(**self.native.arguments)

    @property
    def security_risk(self) -> SecurityRisk:
        """The model's own rating of the call."""
        return self.native.security_risk

    @property
    def thought(self) -> list[TextContent]:
        """What the model said before its calls."""
        return [TextContent(text=self.native.thought)] if self.native.thought else []

    def to_llm_message(self) -> Message:
        """Return the message with the call, as words."""
        call = TextContent(text=f"{self.tool_name}({bytes(self.native.arguments_json).decode()})")
        return Message(role="assistant", content=[*self.thought, call])


@dataclass(frozen=True)
class _Answer(_OfCall):
    """An event that answers a call."""

    native: native.ObservationEvent | native.UserRejectObservation | native.AgentErrorEvent

    @property
    def action_id(self) -> str:
        """The id of the event with the call."""
        return self.native.action_id

    def _message(self, content: list[Any]) -> Message:
        return Message(role="tool", name=self.tool_name, tool_call_id=self.tool_call_id, content=content)


@dataclass(frozen=True)
class ObservationEvent(_Answer):
    """A tool's result."""

    native: native.ObservationEvent

    @property
    def observation(self) -> Observation:
        """The result; a tool's own fields are its attributes."""
        content, details = compat_content(self.native.content), dict(self.native.details)
        own = details.pop(OWN_FIELDS, None)
        fields = {**details, **(own if isinstance(own, dict) else {})}
        return Observation.model_validate({**fields, "content": content, "is_error": self.native.is_error})

    def to_llm_message(self) -> Message:
        """Return the message with the result."""
        return self._message(compat_content(self.native.content))


@dataclass(frozen=True)
class UserRejectObservation(_Answer):
    """A refusal of a call."""

    native: native.UserRejectObservation

    @property
    def rejection_reason(self) -> str:
        """The reason, which the model sees."""
        return self.native.rejection_reason

    def to_llm_message(self) -> Message:
        """Return the message with the reason."""
        return self._message([TextContent(text=self.rejection_reason)])


@dataclass(frozen=True)
class AgentErrorEvent(_Answer):
    """A call that gave no result."""

    native: native.AgentErrorEvent

    @property
    def error(self) -> str:
        """What the model is told."""
        return self.native.error

    def to_llm_message(self) -> Message:
        """Return the message with the error."""
        return self._message([TextContent(text=self.error)])


def compat_event(event: native.Event) -> Event:
    """Return the view of an event."""
    match event:
        case native.SystemPromptEvent():
            return SystemPromptEvent(event)
        case native.MessageEvent():
            return MessageEvent(event)
        case native.ActionEvent():
            return ActionEvent(event)
        case native.ObservationEvent():
            return ObservationEvent(event)
        case native.UserRejectObservation():
            return UserRejectObservation(event)
        case native.AgentErrorEvent():
            return AgentErrorEvent(event)
        case _:
            return Event(event)


def unmatched_actions(events: Iterable[Event]) -> list[ActionEvent]:
    """Return the actions that have no result yet, in order."""
    open_actions = dict[str, ActionEvent]()
    for event in events:
        if isinstance(event, ActionEvent):
            open_actions[event.id] = event
        elif isinstance(event, _Answer):
            open_actions.pop(event.action_id, None)
    return list(open_actions.values())
