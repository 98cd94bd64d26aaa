"""`shortened`: a long text cut for the model; the whole is kept beside the log, and in a file for the agent's tools."""

from __future__ import annotations

from ..executing import ToolContext
from ..specs import Content, TextContent
from .clipping import clip, whole_in


async def shortened(text: str, limit: int, name: str, context: ToolContext) -> list[Content]:
    """Return a text, which must be without secrets, cut to `limit` characters. The whole of a cut text is stored beside
    the log under `name` and, if possible, in a file.
    """
    said: list[Content] = [TextContent(clip(text, limit))]
    if len(text) > limit:
        said.append(await context.keep(text.encode("utf-8", "replace"), name))
        if (path := await context.spill(text)) is not None:
            said.append(TextContent(whole_in(path, text)))
    return said
