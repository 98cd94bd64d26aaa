"""`recall`: brings back events that a condensation removed from the view, and searches earlier conversations."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import shorten
from typing import Annotated

import msgspec
from msgspec import Meta

from ..context.recalling import Found, found, no_longer_seen
from ..context.texts import text_of
from ..errors import ConfigurationError, ToolError
from ..events import Event, MessageEvent, ObservationEvent
from ..listing import Hit
from ..protocols import Observation, ToolContext
from ..specs import BlobReference, Content, ImageContent, OnCrash
from ..specs.content import text
from .definition import Params, ToolType, nothing
from .simple import HARMLESS

MOST, MOST_NEAR = 10, 5
"""Maximum number of hits shown for one search: by words, and by meaning."""

EXCERPT = 300
"""Maximum characters shown of a hit."""

NOT_VOUCHED_FOR = (
    "[From earlier conversations in this workspace. Nobody vouches for what they say: check what matters.]"
)


class RecallAction(msgspec.Struct, frozen=True):
    """Arguments of `recall`."""

    query: Annotated[str, Meta(description="What to look for: a path, a command, an error message, or words.")] = ""
    event: Annotated[int | None, Meta(description="The number of an event, such as 12 for #12: all of it.")] = None
    earlier: Annotated[
        bool, Meta(description="Look for `query` in the user's earlier conversations in this workspace instead.")
    ] = False


class Recall:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: RecallAction, context: ToolContext) -> Observation:
        """Return the hits of a search, or one event. Raises `ToolError` for invalid arguments, if the event is missing
        or has no text, or if earlier conversations cannot be searched.
        """
        past = context.recollection
        if action.event is not None and action.earlier:
            raise ToolError("an earlier conversation cannot be opened by a number: look for words with query")
        if action.event is not None:
            return Observation(content=_whole(await past.event(action.event), action.event, context))
        if not action.query.strip():
            raise ToolError("give a query, or the number of an event")
        if not action.earlier:
            said, shown = await _here(context, action.query)
            return Observation(content=text("\n".join((said, *await _near(context, action.query, shown)))))
        try:
            hits = await past.earlier(action.query, MOST)
        except ConfigurationError as error:
            raise ToolError(str(error)) from error
        by_meaning = await _near(context, action.query, {(hit.conversation, hit.seq) for hit in hits}, earlier=True)
        lines = [*map(_line, hits)] or [f"No earlier conversation in this workspace says {action.query!r}."]
        if not hits and not by_meaning:
            return Observation(content=text(lines[0]))
        return Observation(content=text("\n".join((NOT_VOUCHED_FOR, *lines, *by_meaning))), labels=("outside",))

    async def aclose(self) -> None: ...


def _line(hit: Hit) -> str:
    where = f"conversation {hit.conversation}, event {hit.seq}, {hit.kind}" if hit.conversation else _numbered(hit)
    return f"- {where}: {shorten(hit.text, EXCERPT, placeholder='…')}"


def _numbered(hit: Hit | Found) -> str:
    return f"#{hit.seq} {hit.kind}"


async def _near(
    context: ToolContext, query: str, shown: Collection[tuple[str, int]], *, earlier: bool = False
) -> list[str]:
    """Return lines with the events that are nearest in meaning and not `shown` yet; none without an embedding model."""
    if not context.models.embeddings:
        return []
    try:
        hits = await context.recollection.nearest(query, MOST, context.models, context.masked, earlier=earlier)
    except ToolError as error:
        return [f"[Not searched by meaning: {error}]"]
    near = [hit for hit in hits if (hit.conversation, hit.seq) not in shown][:MOST_NEAR]
    return ["The nearest in meaning:", *map(_line, near)] if near else []


async def _here(context: ToolContext, query: str) -> tuple[str, set[tuple[str, int]]]:
    """Return what a search by words says, and the events that it shows."""
    past = context.recollection
    events = await past.events()
    hits, count = found(no_longer_seen(events), query, MOST, context.masked)
    if not hits:
        there = {seen.id for seen in past.view if not seen.masked}
        shown, _ = found((event for event in events if event.id in there), query, 1, context.masked)
        more = f" You still see it in event {shown[0].seq}." if shown else " Try fewer or other words."
        return f"Nothing that you no longer see says {query!r}.{more}", set()
    events_say = "event that you no longer see says" if count == 1 else "events that you no longer see say"
    head = f"{count} {events_say} {query!r}"
    shown_of = f"{head}, the newest {len(hits)} of them first:" if count > len(hits) else f"{head}:"
    lines = (f"- {_numbered(hit)}: {hit.snippet}" for hit in hits)
    return "\n".join((shown_of, *lines)), {("", hit.seq) for hit in hits}


def _whole(event: Event | None, seq: int, context: ToolContext) -> tuple[Content, ...]:
    entry = text_of(event) if event is not None else None
    if event is None or entry is None:
        raise ToolError(f"event {seq} says nothing, or there is none of that number: look for words with query")
    kind, said = entry
    content = event.content if isinstance(event, MessageEvent | ObservationEvent) else ()
    images = (block for block in content if isinstance(block, ImageContent) or _is_image(block))
    return (*text(context.masked(f"#{seq} {kind}:\n{said}")), *images)


def _is_image(block: Content) -> bool:
    return isinstance(block, BlobReference) and block.media_type.startswith("image/")


recall = ToolType(
    name="recall",
    description=(
        "Bring back what was said, done or shown earlier in this conversation and is no longer in it, because a summary"
        " took its place: search it with `query`, or get one event whole by its number. With `earlier`, find places in"
        " the user's earlier conversations in this workspace."
    ),
    action=RecallAction,
    executor=Recall,
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (),
    effects=nothing,
    harmless=True,
    headline=("{query}", "#{event}"),
    aliases=("search_history", "recall_memory"),
    recalls=True,
)
