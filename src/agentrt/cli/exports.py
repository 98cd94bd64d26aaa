"""Exports of a conversation in forms for other programs and for people. Pure: events in, text out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from ..codec import encode
from ..context.messages import Message, to_messages
from ..context.views import viewed
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    ConversationCreated,
    ConversationErrorEvent,
    Event,
    HeadMoved,
    MessageEvent,
    ObservationEvent,
    ResourceLost,
    SystemPromptEvent,
    UserRejectObservation,
)
from ..llm.wire import wire_message
from ..specs import Content, ImageContent
from ..specs.content import plain
from ..specs.llm import named
from ..state import branch, fold
from .notes import note
from .wording import clean, condensed

_SPEAKERS = {"user": "User", "agent": "Agent", "environment": "Environment", "hook": "Hook"}
_INDENT = 2


def as_json(events: Sequence[Event]) -> str:
    """Return a JSON array of all events, one on each line, as they are in the log but without the framing."""
    return "[\n" + ",\n".join(encode(event).decode() for event in events) + "\n]\n"


def messages(events: Sequence[Event]) -> list[Message]:
    """Return the messages of the next model call: the view of the active branch and what is queued for it."""
    here = fold(events).branch
    return to_messages(viewed([*here.view, *here.queued], {event.seq: event for event in events}))


def as_openai(events: Sequence[Event]) -> str:
    """Return the `messages` of a chat-completions request."""
    wire = [wire_message(message) for message in messages(events)]
    return msgspec.json.format(msgspec.json.encode(wire), indent=_INDENT).decode() + "\n"


def as_markdown(events: Sequence[Event]) -> str:
    """Return a transcript of the active branch. Nothing is folded, and what has left the model's view is included."""
    parts: list[str] = []
    speaker = ""
    for event in branch(events):
        heard = event.source if isinstance(event, (MessageEvent, ActionEvent)) else speaker
        if isinstance(event, MessageEvent) or heard != speaker or (isinstance(event, ActionEvent) and event.thought):
            parts.append(f"## {_SPEAKERS[heard]}")
        speaker = heard
        parts.extend(_told(event))
    return "\n\n".join(map(clean, parts)) + "\n"


FORMATS: Mapping[str, Callable[[Sequence[Event]], str]] = {
    "json": as_json,
    "openai": as_openai,
    "markdown": as_markdown,
}
"""The export functions by the name of their format."""


def _told(event: Event) -> Iterator[str]:
    match event:
        case ConversationCreated():
            yield f"# Conversation {event.conversation_id}"
            yield f"{event.timestamp:%Y-%m-%d %H:%M} UTC, model `{named(event.agent.llm)}`, in `{event.workspace.path}`"
        case SystemPromptEvent():
            yield "## System prompt"
            yield _fenced(event.system_prompt)
            yield "Tools: " + ", ".join(f"`{definition.name}`" for definition in event.tools)
        case MessageEvent():
            yield from _content(event.content)
            if event.partial:
                yield "*The user interrupted this answer.*"
        case ActionEvent():
            yield from _action(event)
        case ObservationEvent():
            yield f"Result of `{event.tool_name}`" + (", an error:" if event.is_error else ":")
            yield _fenced(plain(event.content))
            yield from _images(event.content)
        case AgentErrorEvent():
            yield f"`{event.tool_name}` gave no result:"
            yield _fenced(event.error)
        case UserRejectObservation():
            yield f"`{event.tool_name}` was rejected:"
            yield _fenced(event.rejection_reason)
        case Condensation():
            yield f"<details><summary>{condensed(event)}</summary>"
            yield _fenced(event.summary or event.problem)
            yield "</details>"
        case _:
            yield from (f"*{line}*" for line in _noted(event))


def _noted(event: Event) -> Iterator[str]:
    match event:
        case HeadMoved():
            yield f"Rewound to event {event.to}."
        case ResourceLost():
            yield event.detail
        case ConversationErrorEvent():
            yield f"{event.code}: {event.detail}"
        case _:
            yield from (line.plain.strip() for line in note(event, {}))


def _action(event: ActionEvent) -> Iterator[str]:
    """Return a call as Markdown; arguments of several lines get a block of their own."""
    if event.thought:
        yield event.thought
    yield f"### `{event.tool_name}`"
    if event.malformed is not None:
        yield _fenced(event.malformed)
        return
    arguments = msgspec.json.decode(event.arguments_json, type=dict[str, msgspec.Raw])
    long = {name: text for name, value in arguments.items() if (text := _long(value)) is not None}
    short = {name: value for name, value in arguments.items() if name not in long}
    if short or not long:
        yield _fenced(msgspec.json.format(msgspec.json.encode(short), indent=_INDENT).decode(), "json")
    for name, text in long.items():
        yield f"`{name}`:"
        yield _fenced(text)


def _long(value: msgspec.Raw) -> str | None:
    try:
        text = msgspec.json.decode(value, type=str)
    except msgspec.ValidationError:
        return None
    return text if "\n" in text else None


def _content(content: Sequence[Content]) -> Iterator[str]:
    yield plain(block for block in content if not isinstance(block, ImageContent))
    yield from _images(content)


def _images(content: Sequence[Content]) -> Iterator[str]:
    yield from (f"![image](<{block.url}>)" for block in content if isinstance(block, ImageContent))


def _fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence does not occur in `text`."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"
