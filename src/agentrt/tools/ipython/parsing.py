"""What the code in a kernel has read of a document: `parse_pdf` and the like. The kernel itself needs no library."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio.to_thread

from ...documents.document import MOST, Wanted
from ...documents.kinds import kind_of
from ...documents.rendering import shown
from ...documents.running import read_document
from ...errors import ToolError
from ...executing import ToolContext
from ..files.documents import MOST_BYTES
from ..files.opened import bytes_of, place

_KINDS = ("pdf", "docx", "latex", "pptx")


async def parsed(kind: str, arguments: dict[str, Any], context: ToolContext) -> str:
    """The text of a document of that kind, without secrets. Raises `ToolError`."""
    if kind not in _KINDS:
        raise ToolError(f"there is nothing to parse {kind} with; there is: {', '.join(_KINDS)}")
    path = place(str(arguments.get("path", "")), context)
    data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
    if (found := kind_of(path, data)) not in (kind, "office"):  # which the reader tells from one that is encrypted
        raise ToolError(f"{path} is no {kind}, but {found}")
    document = await read_document(data, path, Wanted(limit=MOST))
    return await anyio.to_thread.run_sync(lambda: context.masked(shown(document, path), by_line=True))
