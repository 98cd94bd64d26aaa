"""`shortened`: a long text cut for the model; the whole is kept beside the log, and in a file for the agent's tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..errors import LogFailed
from ..executing import ToolContext
from ..specs import BlobReference, Content, TextContent
from .clipping import clip, whole_in

Keep: TypeAlias = Callable[[bytes, str], Awaitable[BlobReference]]
"""Stores bytes under a name beside the log. Raises `LogFailed`."""


async def kept(text: str, name: str, keep: Keep) -> Content:
    """Return a reference to a text that `keep` has stored, or a note that it could not: the cut text counts."""
    try:
        return await keep(text.encode("utf-8", "replace"), name)
    except LogFailed:
        return TextContent("[the whole could not be stored beside the log]")


async def shortened(text: str, limit: int, name: str, context: ToolContext) -> list[Content]:
    """Return a text, which must be without secrets, cut to `limit` characters. The whole of a cut text is stored beside
    the log under `name` and, if possible, in a file.
    """
    said: list[Content] = [TextContent(clip(text, limit))]
    if len(text) > limit:
        said.append(await kept(text, name, context.keep))
        if (path := await context.spill(text)) is not None:
            said.append(TextContent(whole_in(path, text)))
    return said
