"""The messages that the model sees, made from the view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, assert_never

import msgspec

from ..chain import Chain
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    CondensationSummaryEvent,
    ContextChanged,
    Event,
    MessageEvent,
    ModelVisible,
    ObservationEvent,
    ResourceLost,
    SecretsChanged,
    SkillActivated,
    SystemPromptEvent,
    ToolsChanged,
    UserRejectObservation,
)
from ..specs import Agent, Content, TextContent, Thinking
from ..specs.content import text
from ..specs.secrets import for_commands
from ..state import Seen

CUT = "[Your answer was cut here, before its end.]"
"""The user message after a partial answer: a history must not end with the model's own words."""

REJECTED = "This action was rejected"
"""How the result of an action begins that a person did not approve."""


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call in an assistant's message; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, gc=False):
    """A chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: tuple[Content, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: str = ""
    thinking: Thinking | None = None


def call_id(action_id: str) -> str:
    """Return the id with which a call is sent to a provider: ours, since providers repeat theirs. 32 characters."""
    return action_id.replace("-", "")


def sent(name: str, arguments: str, through: str) -> tuple[str, str]:
    """Return a call as it is sent to a provider: the name of the called tool (`through`, for a deferred tool) and its
    arguments as JSON.
    """
    if not through:
        return name, arguments
    return through, msgspec.json.encode({"name": name, "arguments": msgspec.Raw(arguments.encode())}).decode()


Around: TypeAlias = tuple[str, str]
"""The text before and after each user message."""


def around(agent: Agent) -> Around:
    """Return the text that an agent sees before and after each user message."""
    context = agent.context
    return ("", "") if context is None else (context.user_message_prefix, context.user_message_suffix)


def to_messages(view: Iterable[Event], around: Around = ("", "")) -> list[Message]:
    """Return the messages of a view. The calls of one reply are one assistant message, and a user message contains the
    skills that it activates.
    """
    messages: list[Message] = []
    response: str | None = None
    said: dict[str, int] = {}
    """The indexes of the user messages that only user messages and skills have followed, by event id."""
    for event in view:
        if not isinstance(event, ModelVisible):
            continue
        message, before = _to_message(event, around), response
        if isinstance(event, SkillActivated) and (place := said.get(event.cause)) is not None:
            of = messages[place]
            messages[place] = msgspec.structs.replace(of, content=(*of.content, *message.content))
            continue
        if isinstance(event, MessageEvent) and event.source == "user":
            said[event.id] = len(messages)
        elif not isinstance(event, SkillActivated):
            said = {}
        response = event.llm_response_id if isinstance(event, ActionEvent) else None
        if response is not None and response == before:
            last = messages[-1]
            messages[-1] = msgspec.structs.replace(last, tool_calls=(*last.tool_calls, *message.tool_calls))
        else:
            messages.append(message)
        if isinstance(event, MessageEvent) and event.partial:
            messages.append(Message("user", text(CUT)))
    return messages


def _to_message(event: ModelVisible, around: Around) -> Message:
    match event:
        case ActionEvent():
            name, arguments = sent(event.tool_name, bytes(event.arguments_json).decode(), event.through)
            call = ToolCall(call_id(event.id), name, arguments)
            thought = text(event.thought) if event.thought else ()
            return Message("assistant", thought, (call,), reasoning=event.reasoning, thinking=event.thinking)
        case SystemPromptEvent():
            parts = (event.system_prompt, event.dynamic_context)
            return Message("system", tuple(TextContent(part) for part in parts if part))
        case MessageEvent(source="agent"):
            return Message("assistant", event.content, reasoning=event.reasoning, thinking=event.thinking)
        case MessageEvent():
            before, after = around if event.source == "user" else ("", "")
            return Message("user", (*_words(before), *event.content, *_words(after)))
        case SkillActivated():
            return Message("user", event.content)
        case ContextChanged():
            return Message("user", text(_changed(event)))
        case ToolsChanged():
            return Message("user", text(f"[{event.told}]"))
        case ObservationEvent():
            return Message("tool", event.content, tool_call_id=call_id(event.action_id))
        case AgentErrorEvent():
            return Message("tool", text(f"Error: {event.error}"), tool_call_id=call_id(event.action_id))
        case UserRejectObservation():
            reason = text(f"{REJECTED}: {event.rejection_reason}")
            return Message("tool", reason, tool_call_id=call_id(event.action_id))
        case CondensationSummaryEvent():
            return Message("user", text(event.summary))
        case ResourceLost():
            return Message("user", text(f"[{event.detail}]"))
        case SecretsChanged():
            return Message("user", text(_secrets(event)))
        case _:
            assert_never(event)


def _words(said: str) -> tuple[TextContent, ...]:
    return (TextContent(said),) if said else ()


def _changed(event: ContextChanged) -> str:
    """Return the note about files that have changed since the model was told their content."""
    named = ", ".join(event.paths)
    return f"[Changed since they were read for you: {named}. What you were told of them is as they were.]"


def _secrets(event: SecretsChanged) -> str:
    """Return the note about the secrets: their names, and what they are for."""
    secrets = for_commands(event.secrets)
    if not secrets:
        return "[All secrets were removed.]"
    named = "".join(
        f"\n- {name}{': ' if source.description else ''}{source.description}"
        for name, source in sorted(secrets.items())
    )
    return f"[A command that names one of these as a variable, like ${{NAME}}, has it while it runs:{named}]"


class Transcript:
    """The messages of a growing view: a step costs only the new events, not the whole history."""

    def __init__(self, around: Around = ("", "")) -> None:
        self._around = around
        self._view: Chain[Seen] = Chain()
        self._messages: Chain[Message] = Chain()
        self.has_more = False
        """Whether a message ever had content other than text."""

    def missing(self, view: Chain[Seen]) -> Sequence[Seen]:
        """Return the places whose events `of` needs. Batches must be complete, as they are at each model call."""
        if not view.continues(self._view):
            self._view, self._messages = Chain(), Chain()
            return list(view)
        return view.since(len(self._view))

    def of(self, view: Chain[Seen], missing: Iterable[Event]) -> Sequence[Message]:
        """Return the messages of `view`, given the missing events."""
        for message in to_messages(missing, self._around):
            self._messages = self._messages.append(message)
            for block in message.content:
                if not isinstance(block, TextContent):
                    self.has_more = True
        self._view = view
        return self._messages
