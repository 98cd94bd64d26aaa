"""What a model is shown of a browser after a step."""

from __future__ import annotations

import base64

from msgspec.structs import replace

from ...errors import LogFailed
from ...protocols import Observation, ToolContext
from ...specs import BlobReference, Content, ImageContent, TextContent
from ...specs.content import sound
from ..clipping import clip
from ..shortened import shortened
from .downloading import put_all
from .session import Session
from .tabs import Tab

MAX_SHOWN = 30_000
"""Characters of a page that the model sees of one call; the whole is kept in a file that it can read."""


LONGEST_TOLD, LONGEST_TITLE = 600, 300
"""Maximum characters of a reported event, and of a title."""

_WINDOW, _FILM = ("window", "image/jpeg"), ("recording", "image/webp")


class BrowserObservation(Observation, frozen=True, kw_only=True):
    """Where the browser is after a step. `picture` shows people the window, or a recording."""

    url: str = ""
    title: str = ""
    tabs: tuple[Tab, ...] = ()
    picture: BlobReference | None = None


async def _stored(context: ToolContext, picture: bytes, name: str, media_type: str) -> BlobReference | None:
    """Store a picture beside the log; return None if that is impossible, as the model does without it."""
    try:
        return await context.keep(picture, name, media_type)
    except LogFailed:
        return None


async def observed(
    session: Session,
    context: ToolContext,
    said: str,
    *,
    tree: str | None = None,
    image: bytes | None = None,
    film: bytes | None = None,
    is_error: bool = False,
) -> BrowserObservation:
    """Return the observation of a step: what was done, what happened, where the browser is, and the tree if given.

    What happened is taken from the session. A model that sees is shown the `image`. People are shown the `film`, an
    animated WebP, else the `image`, else a picture that is taken for them.
    """
    downloaded = await put_all(session.happened.take_downloads(), context)
    tabs = [replace(tab, title=tab.title[:LONGEST_TITLE]) for tab in await session.tabs.shown()]
    active = next((tab for tab in tabs if tab.active), Tab(0, "", ""))
    told = [f"[{clip(context.masked(one), LONGEST_TOLD)}]" for one in session.happened.take_told()]
    where = [f"Page: {active.url} {active.title!r}"]
    if len(tabs) > 1:
        where += [f"Tab {tab.id}{' (active)' if tab.active else ''}: {tab.url} {tab.title!r}" for tab in tabs]
    words = "\n".join(filter(None, [said, *downloaded, *told, *where]))
    content: list[Content] = [TextContent(context.masked(sound(words)))]
    if tree is not None:
        content += await shortened(context.masked(sound(tree), by_line=True), MAX_SHOWN, "whole page", context)
    picture = film or image or await session.quiet_picture()
    if image is not None:
        content.append(ImageContent(f"data:image/jpeg;base64,{base64.b64encode(image).decode()}"))
    return BrowserObservation(
        content=tuple(content),
        is_error=is_error,
        labels=("web",),
        url=context.masked(sound(active.url)),
        title=context.masked(sound(active.title)),
        tabs=tuple(Tab(t.id, context.masked(sound(t.url)), context.masked(sound(t.title)), t.active) for t in tabs),
        picture=await _stored(context, picture, *_FILM if film else _WINDOW) if picture is not None else None,
    )
