"""`document_at`: shows the beginning of a document, a file that is not text but has a reader in `documents`."""

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
"""Maximum size of a document that is read, in bytes."""

_LIMIT = 15_000
_MAX_SHOWN = 16_000
"""Maximum number of characters that a view reads of a document, and that it shows."""


async def document_at(path: str, context: ToolContext) -> TextContent | None:
    """Return the beginning of the document at an absolute path; None if the name is not that of a document, or if
    nothing is there.

    Raises `ToolError` if it cannot be read, also because the extra `documents` is not installed.
    """
    if not is_document(path) or await anyio.to_thread.run_sync(context.files.status, path) is None:
        return None
    data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
    found = await read_document(context.place, data, path, Wanted(limit=_LIMIT))
    text = context.masked(shown(found, path), by_line=True)
    rest = "\n[this is its beginning: the tool read_document reads the rest]" if found.more else ""
    return TextContent(clip(text, _MAX_SHOWN - len(rest)) + rest)
