"""The view: the places of the events that the model sees."""

from __future__ import annotations

from typing import assert_never
from zlib import crc32

from msgspec.structs import replace

from ..chain import Chain
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
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
from ..specs import ToolDefinition
from ..specs.content import plain, text
from ..specs.tokens import BYTES_A_TOKEN, MESSAGE_TOKENS, content_tokens, tokens_of
from .parts import Branch, Seen

SKILL = "skill:"
"""The prefix of a skill's name in `Seen.stands`."""

STANDING = "StandingContext"
"""The type of a place whose event was forgotten and whose text stays in force."""

MASKED_TOKENS = 24
"""The most tokens of a result whose output was replaced by a note."""


def as_seen(event: ModelVisible, tool: ToolDefinition | None = None) -> Seen:
    """Return the place of an event in a view; for a result, `tool` is the tool that gave it."""
    at, tokens = (event.seq, event.id), tokens_seen(event)
    match event:
        case ActionEvent():
            said = crc32(bytes(event.arguments_json), crc32(event.tool_name.encode())) or 1
            thinks = event.thinking is not None
            return Seen(*at, "ActionEvent", event.tool_name, fingerprint=said, tokens=tokens, thinks=thinks)
        case ObservationEvent():
            kind, said = "ObservationEvent", event.fingerprint
            last = tool is not None and tool.ends_turn and not event.is_error
            stands = event.tool_name if tool is not None and tool.stands and not event.is_error else ""
            return Seen(*at, kind, event.tool_name, event.action_id, last, said, tokens=tokens, stands=stands)
        case AgentErrorEvent():
            kind, said = "AgentErrorEvent", crc32(event.error.encode()) or 1
            return Seen(*at, kind, event.tool_name, event.action_id, fingerprint=said, tokens=tokens)
        case UserRejectObservation():
            kind = "UserRejectObservation"
            said = 0 if event.source == "user" else crc32(event.rejection_reason.encode()) or 1
            return Seen(*at, kind, event.tool_name, event.action_id, fingerprint=said, tokens=tokens)
        case MessageEvent():
            answer = event.source == "agent" and not event.partial
            said = crc32(plain(event.content).encode()) or 1 if event.complaint else 0
            user, thinks = event.source == "user", event.thinking is not None
            return Seen(*at, "MessageEvent", answer=answer, fingerprint=said, user=user, tokens=tokens, thinks=thinks)
        case ResourceLost():
            return Seen(*at, "ResourceLost", event.tool_name, tokens=tokens)
        case SystemPromptEvent() | CondensationSummaryEvent() | SecretsChanged() | ContextChanged() | ToolsChanged():
            return Seen(*at, type(event).__name__, tokens=tokens)
        case SkillActivated():
            return Seen(*at, "SkillActivated", tokens=tokens, stands=SKILL + event.skill)
        case _:
            assert_never(event)


def tokens_seen(event: ModelVisible) -> int:
    """Return the approximate number of tokens of an event in a prompt; for messages and observations, as logged."""
    match event:
        case MessageEvent() | ObservationEvent():
            return MESSAGE_TOKENS + event.tokens + _thought(event)
        case ActionEvent():
            said = tokens_of(event.thought) + len(bytes(event.arguments_json)) // BYTES_A_TOKEN
            return MESSAGE_TOKENS + said + tokens_of(event.tool_name) + _thought(event)
        case AgentErrorEvent():
            return MESSAGE_TOKENS + tokens_of(event.error)
        case UserRejectObservation():
            return MESSAGE_TOKENS + tokens_of(event.rejection_reason)
        case SystemPromptEvent():
            offered = sum(tokens_of(tool.description) + len(bytes(tool.parameters)) // 4 for tool in event.tools)
            return MESSAGE_TOKENS + tokens_of(event.system_prompt) + tokens_of(event.dynamic_context) + offered
        case CondensationSummaryEvent():
            return MESSAGE_TOKENS + tokens_of(event.summary)
        case SkillActivated():
            return MESSAGE_TOKENS + content_tokens(event.content)
        case ResourceLost():
            return MESSAGE_TOKENS + tokens_of(event.detail)
        case ContextChanged():
            return MESSAGE_TOKENS + sum(map(tokens_of, event.paths))
        case ToolsChanged():
            return MESSAGE_TOKENS + tokens_of(event.told)
        case SecretsChanged():
            return MESSAGE_TOKENS * (1 + len(event.secrets))
        case _:
            assert_never(event)


def _thought(event: ActionEvent | MessageEvent | ObservationEvent) -> int:
    thinking = None if isinstance(event, ObservationEvent) else event.thinking
    return 0 if thinking is None else len(bytes(thinking.blocks)) // BYTES_A_TOKEN


def with_view(here: Branch, view: Chain[Seen]) -> Branch:
    """Return the branch with another view, and recount its tokens."""
    return replace(here, view=view, tokens=sum(seen.tokens for seen in view))


def with_seen(here: Branch, *seen: Seen) -> Branch:
    """Return the branch with these places added to its view."""
    view, tokens = here.view, here.tokens
    for one in seen:
        view, tokens = view.append(one), tokens + one.tokens
    return replace(here, view=view, tokens=tokens)


def prompted(view: Chain[Seen], prompt: Seen) -> Chain[Seen]:
    """Return the view with these instructions at its beginning, in place of other instructions."""
    if not len(view):
        return view.append(prompt)
    if view[0].type == prompt.type:
        return view if view[0] == prompt else Chain([prompt, *view.since(1)])
    return Chain([prompt, *view])


def condensed(view: Chain[Seen], event: Condensation) -> Chain[Seen]:
    """Return the view without the events that a condensation forgot or masked, with its summary and, after this, the
    texts that stay in force.
    """
    forgotten, hidden = frozenset(event.forgotten_event_ids), frozenset(event.masked_event_ids)
    stays = frozenset(event.standing_event_ids or ())
    kept: list[Seen] = []
    standing: list[Seen] = []
    place: int | None = None
    for seen in view:
        if seen.id not in forgotten:
            kept.append(masked(seen) if seen.id in hidden else seen)
            continue
        if place is None:
            place = len(kept)
        if seen.id in stays:
            standing.append(Seen(seen.seq, seen.id, STANDING, tokens=seen.tokens, stands=seen.stands))
    if place is not None:
        summary = [as_seen(summarized(event))] if event.summary else []
        kept[place:place] = [*summary, *standing]
    return Chain(kept)


def masked(seen: Seen) -> Seen:
    """Return the place of a result without its output."""
    return replace(seen, masked=True, tokens=min(seen.tokens, MASKED_TOKENS))


def shown(event: Event, seen: Seen) -> Event:
    """Return an event as the view shows it: a condensation as its summary, a masked result without output."""
    if isinstance(event, Condensation):
        return summarized(event)
    if seen.type == STANDING and isinstance(event, ObservationEvent | SkillActivated):
        head = text(STILL.format(what=standing_name(seen.stands)))
        return MessageEvent(id=event.id, seq=event.seq, timestamp=event.timestamp, content=(*head, *event.content))
    if seen.masked and isinstance(event, ObservationEvent):
        return replace(event, content=text(LEFT_OUT.format(seq=event.seq)))
    return event


def standing_name(stands: str) -> str:
    """Return what stays in force in words, from `Seen.stands`."""
    skill = stands.removeprefix(SKILL)
    return f"the last result of {stands}" if skill == stands else f"the skill {skill}"


STILL = "[Still in force, from before the summary: {what}.]"
LEFT_OUT = "[This output was left out to save room: it is event {seq}.]"


def summarized(event: Condensation) -> CondensationSummaryEvent:
    """Return the summary event that replaces the forgotten events in a view."""
    return CondensationSummaryEvent(
        id=f"{event.id}-summary",
        seq=event.seq,
        timestamp=event.timestamp,
        summary=event.summary,
        facts=event.facts,
    )
