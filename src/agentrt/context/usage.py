"""`ContextUsage`: what fills the model's context window, by kind, in tokens. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..specs.condensers import most_events, stages
from ..specs.tokens import tokens_of
from ..state import Seen, State
from ..state.seeing import SKILL, STANDING
from .condensing import most_tokens, window_known

INSTRUCTIONS, CONTEXT, TOOLS = "system prompt", "context", "tools"

_KINDS = {
    "SystemPromptEvent": INSTRUCTIONS,
    "CondensationSummaryEvent": "summary",
    "SkillActivated": "skills",
    "ActionEvent": "calls",
    "ObservationEvent": "results",
    "AgentErrorEvent": "results",
    "UserRejectObservation": "results",
}
_ORDER = (INSTRUCTIONS, CONTEXT, TOOLS, "skills", "summary", "user", "agent", "calls", "results", "notices")


class ContextPart(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a context window that one kind of content takes."""

    kind: str
    """`system prompt`, `context` (the part of the prompt that is specific to this conversation), `tools`, `skills`,
    `summary`, `user`, `agent`, `calls` and `results` of the tool `name`, or `notices`.
    """
    name: str = ""
    events: int
    tokens: int


class ContextUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a model's context window. Tokens are estimated, and corrected by the provider's last count."""

    events: int
    tokens: int
    window: int
    """The model's context window; 0: not known yet."""
    max_events: int | None
    """The number of events above which the view is condensed; None: the number does not matter."""
    max_tokens: int | None
    """The same in tokens."""
    parts: tuple[ContextPart, ...]


def context_usage(state: State) -> ContextUsage:
    """Return the content of a conversation's next model call, by kind."""
    here, counting = state.branch, state.ledger.counting
    found: dict[tuple[str, str], list[int]] = {}
    places = (*here.view, *here.queued)
    for seen in places:
        for kind, name, tokens in _parts(state, seen):
            counted = found.setdefault((kind, name), [0, 0])
            counted[0] += 1
            counted[1] += tokens
    parts = [
        ContextPart(kind=kind, name=name, events=events, tokens=round(tokens * counting.measure))
        for (kind, name), (events, tokens) in found.items()
    ]
    window = window_known(state) if state.agent is not None else 0
    bounds = list(stages(state.spec.condenser)) if state.agent is not None else []
    return ContextUsage(
        events=len(places),
        tokens=round(sum(seen.tokens for seen in places) * counting.measure),
        window=window,
        max_events=most_events(state.spec.condenser) if state.agent is not None else None,
        max_tokens=min((most for one in bounds if (most := most_tokens(one, window))), default=None),
        parts=tuple(sorted(parts, key=lambda part: (_ORDER.index(part.kind), -part.tokens, part.name))),
    )


def _parts(state: State, seen: Seen) -> Iterator[tuple[str, str, int]]:
    """Yield the parts of a place in a view: kind, tool name and tokens."""
    prompt = state.prompt
    if seen.type == "SystemPromptEvent" and prompt is not None:
        said = tokens_of(prompt.dynamic_context)
        own = min(tokens_of(prompt.system_prompt), seen.tokens - said)
        yield INSTRUCTIONS, "", own
        if said:
            yield CONTEXT, "", said
        yield TOOLS, "", seen.tokens - said - own
    elif seen.type == "MessageEvent":
        yield ("user" if seen.user else "agent" if seen.answer else "notices"), "", seen.tokens
    elif seen.type == STANDING:
        yield ("skills" if seen.stands.startswith(SKILL) else "notices"), "", seen.tokens
    else:
        kind = _KINDS.get(seen.type, "notices")
        yield kind, seen.tool_name if kind in ("calls", "results") else "", seen.tokens
