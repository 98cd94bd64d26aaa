"""Converts a model's reply to events. Pure, so that a test of any broken reply takes three lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from ..errors import ContentRefused
from ..events import ActionEvent, AgentErrorEvent, ConversationErrorEvent, Event, MessageEvent
from ..ids import new_id
from ..specs import Thinking, ToolDefinition
from ..specs.content import sound, text
from ..specs.deferral import CALL, SEARCH
from ..usage import Usage
from .dispatching import meant as as_meant
from .messages import ToolCall
from .own_ratings import own_rating
from .repair import Repaired, suggestion

NUDGE = "Your reply was empty. Call a tool to go on, or answer the user."
AFTER_FINISH = "not run: it comes after finish in the same reply. Call finish last, when all else is done"
NOT_FOUND_YET = f"not run: {{}} is called once {SEARCH} has shown how: search for it first"
HELD_BACK = ("content_filter", "refusal")
"""The finish reasons of a reply from which the provider withheld a part."""

FILTERED = (
    "the provider held back a part of the answer, by its filter of content: say it in another way, or switch the model"
)
CUT_SHORT = (
    "Your reply was cut at the limit of output tokens, and it called no tool. Go on in smaller steps: think shorter,"
    " and write long files in several parts."
)


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer; `cost` in USD, None if the price is unknown."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    thinking: Thinking | None = None
    response_id: str = msgspec.field(default_factory=new_id)
    usage: Usage = Usage()
    cost: float | None = None
    model: str = ""
    """The model that answered; `usage_id` is the name under which its usage is summed. Both are set, or neither."""
    usage_id: str = ""
    complaint: str | None = None
    """The message to the model about calls in its text that could not be read."""
    vectors: tuple[tuple[float, ...], ...] = ()
    """The vectors of an embedding model, one for each text."""
    finish_reason: str = "stop"
    """Why the reply ended: "stop", "tool_calls", "length" (cut at a token limit), or one of `HELD_BACK`."""


class Toolbox(Protocol):
    """The tools against which a reply's calls are checked."""

    @property
    def known(self) -> tuple[ToolDefinition, ...]:
        """The tools in the form in which the model was offered or found them."""
        ...

    def resources(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...]:
        """Return the resource keys of a call. Raises `BadCall` if there is no such tool or the arguments do not fit."""
        ...


DO_NOT_FIT = "the arguments of {} do not fit: "
"""The beginning of the message to the model about invalid arguments."""


class BadCall(Exception):
    """Raised for a call that cannot run; the text tells the model how to fix it."""


def reply_events(
    reply: ModelReply, toolbox: Toolbox, message_id: str, caused_by: str, deferred: Mapping[str, bool] = {}
) -> tuple[Event, ...]:
    """Return the actions of a reply with the errors of those that cannot run, or its message.

    `deferred` maps each deferred tool to whether a search has found it.

    A complaint about the reply comes first, as a message of the environment: a waiting message keeps the run from
    ending.
    """
    complaint = _complaint(reply)
    told = (
        (MessageEvent(content=text(sound(complaint)), complaint=True, caused_by=caused_by),)
        if complaint is not None
        else ()
    )
    if reply.finish_reason in HELD_BACK:
        filtered = ConversationErrorEvent(code=ContentRefused.code, detail=FILTERED, caused_by=caused_by)
        return (*_said(reply, toolbox, message_id, caused_by, deferred, partial=True), filtered)
    return (*told, *_said(reply, toolbox, message_id, caused_by, deferred))


def _said(
    reply: ModelReply,
    toolbox: Toolbox,
    message_id: str,
    caused_by: str,
    deferred: Mapping[str, bool],
    *,
    partial: bool = False,
) -> tuple[Event, ...]:
    """Return the actions of a reply, or its message if it has text; `partial` if the provider withheld a part."""
    if reply.tool_calls:
        return _actions(reply, toolbox, message_id, caused_by, deferred)
    if not reply.text.strip():
        return ()
    message = MessageEvent(
        id=message_id,
        source="agent",
        content=text(sound(reply.text)),
        partial=partial,
        reasoning=sound(reply.reasoning),
        thinking=reply.thinking,
        llm_response_id=reply.response_id,
        caused_by=caused_by,
    )
    return (message,)


def _complaint(reply: ModelReply) -> str | None:
    if reply.complaint is not None or reply.tool_calls:
        return reply.complaint
    if reply.finish_reason == "length":
        return CUT_SHORT
    return None if reply.text.strip() else NUDGE


def _actions(
    reply: ModelReply, toolbox: Toolbox, first_id: str, caused_by: str, deferred: Mapping[str, bool]
) -> tuple[Event, ...]:
    actions: list[ActionEvent] = []
    errors: list[AgentErrorEvent] = []
    held_back = "not run: the provider held back a part of this reply" if reply.finish_reason in HELD_BACK else None
    finished = False
    for number, call in enumerate(reply.tool_calls):
        cut = reply.finish_reason == "length" and number == len(reply.tool_calls) - 1
        found = as_meant(call, toolbox.known, cut=cut)
        definition = next((d for d in toolbox.known if d.name == found.call.name), None)
        own = own_rating(found.call.arguments, definition)
        meant = msgspec.structs.replace(found.call, arguments=own.arguments)
        resources, problem = _checked(meant, toolbox)
        problem = problem or held_back or (AFTER_FINISH if finished else None)
        if deferred.get(meant.name) is False:
            resources, problem = (), NOT_FOUND_YET.format(meant.name)
        finished = finished or (definition is not None and definition.ends_turn and problem is None)
        asked = sound(found.asked)
        action = ActionEvent(
            id=new_id() if number else first_id,
            tool_name=meant.name,
            asked_as=asked if asked != meant.name else None,
            tool_call_id=call.id,
            arguments_json=meant.arguments,
            malformed=meant.original,
            llm_response_id=reply.response_id,
            thought="" if number else sound(reply.text),
            reasoning="" if number else sound(reply.reasoning),
            thinking=None if number else reply.thinking,
            resources=resources,
            security_risk=own.risk,
            summary=sound(own.summary),
            through=found.through or (CALL if meant.name in deferred else ""),
            caused_by=caused_by,
        )
        actions.append(action)
        if problem is not None:
            errors.append(
                AgentErrorEvent(
                    action_id=action.id,
                    tool_name=meant.name,
                    tool_call_id=call.id,
                    error=problem,
                    caused_by=action.id,
                )
            )
    return (*actions, *errors)


def _checked(call: Repaired, toolbox: Toolbox) -> tuple[tuple[str, ...], str | None]:
    """Return the resources of a call; if it cannot run, none, and the reason."""
    if call.problem is not None:
        return (), call.problem
    try:
        return toolbox.resources(call.name, call.arguments), None
    except BadCall as bad:
        return (), f"{bad}{suggestion(call.name, toolbox.known)}"
