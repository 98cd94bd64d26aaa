"""The beginning of a document as a view shows it: of what no text editor can show, but a reader of documents can."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from ...documents.document import Wanted
from ...documents.kinds import is_document
from ...documents.rendering import shown
from ...documents.running import read_document
from ...protocols import ToolContext
from ...specs import TextContent
from ..clipping import clip
from .opened import bytes_of

MOST_BYTES = 100 * 1024 * 1024
"""Bytes of the largest document that is read."""

_LIMIT = 15_000
_MAX_SHOWN = 16_000
"""Characters of a document that are read for a view, and that it shows."""


async def document_at(path: str, context: ToolContext) -> TextContent | None:
    """The beginning of the document at an absolute path; None where it is none by its name, or nothing is there.

    Raises `ToolError` for one that cannot be read, also since the extra `documents` is not installed.
    """
    if not is_document(path) or await anyio.to_thread.run_sync(context.files.status, path) is None:
        return None
    data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
    found = await read_document(data, path, Wanted(limit=_LIMIT))
    text = context.masked(shown(found, path), by_line=True)
    rest = "\n[this is its beginning: the tool read_document reads the rest]" if found.more else ""
    return TextContent(clip(text, _MAX_SHOWN - len(rest)) + rest)
