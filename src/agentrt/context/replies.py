"""A model's reply as events: pure, so that every broken reply is a test of three lines."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ..events import ActionEvent, AgentErrorEvent, Event, MessageEvent, Usage, new_id
from ..specs.content import text
from .messages import ToolCall

NUDGE = "Your reply was empty. Call a tool to go on, or answer the user."


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered; `cost` in USD, None when no price is known."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    response_id: str = msgspec.field(default_factory=new_id)
    usage: Usage = Usage()
    cost: float | None = None


class Toolbox(Protocol):
    """What a reply's calls are held against."""

    def resources(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...]:
        """The resource keys of a call. Raises `BadCall` when there is no such tool or the arguments do not fit."""
        ...


class BadCall(Exception):
    """Raised for a call that cannot run; the text tells the model how to mend it."""


def reply_events(reply: ModelReply, toolbox: Toolbox, message_id: str, caused_by: str) -> tuple[Event, ...]:
    """The actions of a reply with the errors of those that cannot run, or its message, or a nudge when it is empty."""
    if reply.tool_calls:
        return _actions(reply, toolbox, message_id, caused_by)
    if not reply.text.strip():
        return (MessageEvent(content=text(NUDGE), caused_by=caused_by),)
    return (
        MessageEvent(
            id=message_id,
            source="agent",
            content=text(reply.text),
            reasoning=reply.reasoning,
            llm_response_id=reply.response_id,
            caused_by=caused_by,
        ),
    )


def _actions(reply: ModelReply, toolbox: Toolbox, first_id: str, caused_by: str) -> tuple[Event, ...]:
    actions: list[ActionEvent] = []
    errors: list[AgentErrorEvent] = []
    for number, call in enumerate(reply.tool_calls):
        arguments, problem = _arguments(call.arguments)
        resources: tuple[str, ...] = ()
        if problem is None:
            try:
                resources = toolbox.resources(call.name, arguments)
            except BadCall as bad:
                problem = str(bad)
        action = ActionEvent(
            id=new_id() if number else first_id,
            tool_name=call.name,
            tool_call_id=call.id,
            arguments=arguments,
            malformed=call.arguments if problem is not None and bytes(arguments) == b"{}" else None,
            llm_response_id=reply.response_id,
            thought="" if number else reply.text,
            reasoning="" if number else reply.reasoning,
            resources=resources,
            caused_by=caused_by,
        )
        actions.append(action)
        if problem is not None:
            errors.append(
                AgentErrorEvent(
                    action_id=action.id,
                    tool_name=call.name,
                    tool_call_id=call.id,
                    error=problem,
                    caused_by=action.id,
                )
            )
    return (*actions, *errors)


def _arguments(given: str) -> tuple[msgspec.Raw, str | None]:
    """The arguments as a JSON object, and what is wrong with them."""
    if not given.strip():
        return msgspec.Raw(b"{}"), None
    try:
        decoded = msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeError) as error:
        shown = given if len(given) <= 200 else given[:200] + "..."
        return msgspec.Raw(b"{}"), f"the arguments are not valid JSON ({error}): {shown}. Send one JSON object."
    if not isinstance(decoded, dict):
        return msgspec.Raw(b"{}"), f"the arguments must be a JSON object, not {type(decoded).__name__}."
    return msgspec.Raw(msgspec.json.encode(decoded)), None
