"""The view: the places of what the model sees."""

from __future__ import annotations

from typing import assert_never
from zlib import crc32

from ..chain import Chain
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    CondensationSummaryEvent,
    ContextChanged,
    MessageEvent,
    ModelVisible,
    ObservationEvent,
    ResourceLost,
    SecretsChanged,
    SkillActivated,
    SystemPromptEvent,
    UserRejectObservation,
)
from ..specs import ToolDefinition
from ..specs.content import plain
from .parts import Seen


def as_seen(event: ModelVisible, tool: ToolDefinition | None = None) -> Seen:
    """The place that an event takes in a view; `tool` is whose result it is."""
    match event:
        case ActionEvent():
            said = crc32(bytes(event.arguments), crc32(event.tool_name.encode())) or 1
            return Seen(event.seq, event.id, "ActionEvent", event.tool_name, fingerprint=said)
        case ObservationEvent():
            kind, said = "ObservationEvent", event.fingerprint
            last = tool is not None and tool.ends_turn and not event.is_error
            return Seen(event.seq, event.id, kind, event.tool_name, event.action_id, last, said)
        case AgentErrorEvent():
            kind, said = "AgentErrorEvent", crc32(event.error.encode()) or 1
            return Seen(event.seq, event.id, kind, event.tool_name, event.action_id, fingerprint=said)
        case UserRejectObservation():
            kind = "UserRejectObservation"
            said = 0 if event.source == "user" else crc32(event.rejection_reason.encode()) or 1
            return Seen(event.seq, event.id, kind, event.tool_name, event.action_id, fingerprint=said)
        case MessageEvent():
            answer = event.source == "agent" and not event.partial
            said = crc32(plain(event.content).encode()) or 1 if event.complaint else 0
            user = event.source == "user"
            return Seen(event.seq, event.id, "MessageEvent", answer=answer, fingerprint=said, user=user)
        case ResourceLost():
            return Seen(event.seq, event.id, "ResourceLost", event.tool_name)
        case SystemPromptEvent() | CondensationSummaryEvent() | SecretsChanged() | ContextChanged() | SkillActivated():
            return Seen(event.seq, event.id, type(event).__name__)
        case _:
            assert_never(event)


def prompted(view: Chain[Seen], prompt: Seen) -> Chain[Seen]:
    """The view with these instructions: before all else, in the place of others."""
    if not len(view):
        return view.append(prompt)
    if view[0].type == prompt.type:
        return view if view[0] == prompt else Chain([prompt, *view.since(1)])
    return Chain([prompt, *view])


def condensed(view: Chain[Seen], event: Condensation) -> Chain[Seen]:
    """The view without what a condensation forgot, and with its summary."""
    forgotten = frozenset(event.forgotten_event_ids)
    kept: list[Seen] = []
    place: int | None = None
    for seen in view:
        if seen.id not in forgotten:
            kept.append(seen)
        elif place is None:
            place = len(kept)
    if place is not None and event.summary:
        kept.insert(place, as_seen(summarized(event)))
    return Chain(kept)


def summarized(event: Condensation) -> CondensationSummaryEvent:
    """What stands in the view for what a condensation forgot."""
    return CondensationSummaryEvent(
        id=f"{event.id}-summary", seq=event.seq, timestamp=event.timestamp, summary=event.summary
    )
