"""What the code in a kernel has read of a document: `parse_pdf` and the like. The kernel itself needs no library."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

import anyio.to_thread

from ...documents.document import MOST, Wanted
from ...documents.kinds import image_type, kind_of
from ...documents.rendering import shown
from ...documents.running import read_document
from ...errors import ToolError
from ...executing import ToolContext
from ...specs import ImageContent
from ..files.documents import MOST_BYTES
from ..files.opened import bytes_of, place

_KINDS = ("pdf", "docx", "latex", "pptx")

MOST_SEEN = 5 << 20
"""Bytes of an image that a model is shown."""


async def parsed(kind: str, arguments: dict[str, Any], context: ToolContext) -> str:
    """The text of a document of that kind, without secrets; of an image, what a model says that sees.

    Raises `ToolError`.
    """
    if kind not in (*_KINDS, "image"):
        raise ToolError(f"there is nothing to parse {kind} with; there is: {', '.join(_KINDS)}")
    path = place(str(arguments.get("path", "")), context)
    data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
    if kind == "image":
        return await _seen(path, data, str(arguments.get("task", "")), context)
    if (found := kind_of(path, data)) not in (kind, "office"):  # which the reader tells from one that is encrypted
        raise ToolError(f"{path} is no {kind}, but {found}")
    document = await read_document(data, path, Wanted(limit=MOST))
    return await anyio.to_thread.run_sync(lambda: context.masked(shown(document, path), by_line=True))


async def _seen(path: str, data: bytes, task: str, context: ToolContext) -> str:
    if (media_type := image_type(data)) is None:
        raise ToolError(f"{path} is no image that a model sees: PNG, JPEG, GIF or WebP")
    if len(data) > MOST_SEEN:
        raise ToolError(f"{path} has {len(data):,} bytes: an image of at most {MOST_SEEN:,} can be seen")
    image = ImageContent(f"data:{media_type};base64,{base64.b64encode(data).decode()}")
    return await context.models.see([image], task)
