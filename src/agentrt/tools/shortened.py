"""`shortened`: a long text as a model is shown it; the whole is kept beside the log, and in a file that it can read."""

from __future__ import annotations

from ..executing import ToolContext
from ..specs import Content, TextContent
from .clipping import clip, whole_in


async def shortened(text: str, limit: int, name: str, context: ToolContext) -> list[Content]:
    """A text, without secrets, of at most `limit` characters; where it is cut the whole is kept under that name."""
    said: list[Content] = [TextContent(clip(text, limit))]
    if len(text) > limit:
        said.append(await context.keep(text.encode("utf-8", "replace"), name))
        if (path := await context.spill(text)) is not None:
            said.append(TextContent(whole_in(path, text)))
    return said
