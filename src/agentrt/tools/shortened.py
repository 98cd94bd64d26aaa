"""`shortened`: a long text cut for the model; the whole is kept beside the log, and in a file for the agent's tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec.structs import replace

from ..errors import LogFailed
from ..executing import ToolContext
from ..specs import BlobReference, Content, TextContent
from ..specs.content import whole_in
from .clipping import clip

Keep: TypeAlias = Callable[[bytes, str], Awaitable[BlobReference]]
"""Stores bytes under a name beside the log. Raises `LogFailed`."""

Spill: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Writes a text to a file that the agent's tools can read, and returns its path; None if there is no such place."""

NOT_STORED = "[the whole could not be stored beside the log]"


async def kept(text: str, name: str, keep: Keep, spill: Spill | None = None) -> Content:
    """Store a text beside the log and, with `spill`, in a file for the agent's tools. Return what names them, or a note
    that neither could be written: the cut text counts.
    """
    data = text.encode("utf-8", "replace")
    path = await spill(text) if spill is not None else None
    lines = text.count("\n") + 1
    try:
        blob = await keep(data, name)
    except LogFailed:
        return TextContent(NOT_STORED if path is None else f"{NOT_STORED}\n{whole_in(path, len(data), lines)}")
    return blob if path is None else replace(blob, path=path, lines=lines)


async def shortened(text: str, limit: int, name: str, context: ToolContext) -> list[Content]:
    """Return a text, which must be without secrets, cut to `limit` characters. The whole of a cut text is stored beside
    the log under `name` and, if possible, in a file.
    """
    said: list[Content] = [TextContent(clip(text, limit))]
    if len(text) > limit:
        said.append(await kept(text, name, context.keep, context.spill))
    return said
