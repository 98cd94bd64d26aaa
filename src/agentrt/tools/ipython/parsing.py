"""Reads documents for `parse_pdf` and the like in a kernel, which needs no library itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio.to_thread

from ...documents.document import MOST, Document, Wanted
from ...documents.kinds import kind_of
from ...documents.rendering import shown
from ...documents.running import read_document
from ...errors import ToolError
from ...executing import ToolContext
from ...placing import Place
from ..documents.hearing import SECONDS, TRANSCRIBER, heard
from ..documents.seeing import image_of, pictures, seeable
from ..files.documents import MOST_BYTES
from ..files.opened import bytes_of, place

_KINDS = ("pdf", "docx", "latex", "pptx", "image", "audio", "video")

MOST_FRAMES = 30
"""Maximum number of frames of a video that a model is asked about."""


async def parsed(kind: str, arguments: dict[str, Any], context: ToolContext) -> str:
    """Return the text of a document without secrets, what a model says of an image or of the frames of a video, or the
    transcript of a recording.

    Raises `ToolError`.
    """
    if kind not in _KINDS:
        raise ToolError(f"there is nothing to parse {kind} with; there is: {', '.join(_KINDS)}")
    path = place(str(arguments.get("path", "")), context)
    data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
    task = str(arguments.get("task", ""))
    match kind:
        case "image":
            return await context.models.see([seeable(path, data)], task)
        case "audio":
            return await _heard(path, data, str(arguments.get("model") or TRANSCRIBER), context)
        case "video":
            return await _watched(path, data, task, arguments.get("every", 0), context)
        case _:
            if (found := kind_of(path, data)) not in (kind, "office"):  # "office": its reader tells if it is encrypted
                raise ToolError(f"{path} is not a {kind}, but {found}")
            document = await read_document(context.place, data, path, Wanted(limit=MOST))
            return await anyio.to_thread.run_sync(lambda: context.masked(shown(document, path), by_line=True))


async def _recording(path: str, data: bytes, wanted: Wanted, where: Place) -> Document:
    if (found := kind_of(path, data)) != "media":
        raise ToolError(f"{path} is not audio or video, but {found}")
    return await read_document(where, data, path, wanted, seconds=SECONDS)


async def _heard(path: str, data: bytes, model: str, context: ToolContext) -> str:
    """Return the transcript of a recording, without the lines that tell the position in the file."""
    wanted = Wanted(pages="1-", media=True, pictures=0)
    recording = await heard(await _recording(path, data, wanted, context.place), wanted, model, context)
    if not any(part.seconds for part in recording.parts):
        raise ToolError(f"{path} has no sound")
    rest = f"\n[there is more: read_document(path, pages={recording.more!r}) goes on]" if recording.more else ""
    return "\n".join(part.text for part in recording.parts) + rest


async def _watched(path: str, data: bytes, task: str, every: Any, context: ToolContext) -> str:
    """Return what a model says of each of some frames."""
    if not isinstance(every, int) or every < 1:
        raise ToolError("frame_interval is a number of frames, from 1")
    wanted = Wanted(pages="1-", media=True, pictures=MOST_FRAMES, every=every)
    said = [
        f"{picture.label}: {await context.models.see([image_of(picture.jpeg)], task)}"
        for picture in pictures((await _recording(path, data, wanted, context.place)).parts)
    ]
    if not said:
        raise ToolError(f"{path} has no frames: it is audio")
    return "\n\n".join(said)
