"""`read_document`: PDF, office files, books, tables, e-mail, archives and images as Markdown."""

from __future__ import annotations

import base64
import shutil
from functools import partial
from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta

from ..documents.document import BEGINNING, MOST, Document, Wanted
from ..documents.kinds import image_type
from ..documents.rendering import shown
from ..documents.running import read_document as read
from ..protocols import Observation, ToolContext
from ..sandboxes.programs import printed
from ..specs import Content, ImageContent, OnCrash, TextContent, Workspace
from .clipping import clip
from .declared import READS, reads_path
from .definition import Params, ToolType, file_key
from .files.documents import MOST_BYTES
from .files.opened import bytes_of, place
from .shortened import shortened

MAX_SHOWN = 30_000
"""Characters of a document that the model sees of one call."""

MOST_SEEN = 5 * 1024 * 1024
"""Bytes of the largest image that a model is shown."""

_RECOGNIZE = "ulimit -v 1048576; ulimit -t 30; exec tesseract stdin stdout"
_SECONDS = 30.0
_MOST_RECOGNIZED = 1 << 20
"""Seconds for the recognition of text in an image, and bytes of that."""


class ReadDocumentAction(msgspec.Struct, frozen=True):
    """Arguments of `read_document`."""

    path: Annotated[str, Meta(description="The file: an absolute path, or one from the workspace on.")]
    pages: Annotated[
        str,
        Meta(
            description=(
                "Pages, slides, chapters, sections or cells such as '1-3,7,10-'; a sheet and its rows: 'Costs!100-200';"
                " an entry of a zip or e-mail: 'a/b.pdf', with pages of its own: 'a/b.pdf!2'. Default: the beginning."
            )
        ),
    ] = ""
    query: Annotated[str, Meta(description="Words to look for: gives the pages or rows in which they stand.")] = ""


class ReadDocumentObservation(Observation, frozen=True, kw_only=True):
    """What the document is, which of its parts are shown, from 1, and of how many."""

    path: str
    kind: str = ""
    unit: str = ""
    total: int = 0
    parts: tuple[int, ...] = ()
    title: str = ""
    more: str = ""


class ReadDocument:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: ReadDocumentAction, context: ToolContext) -> ReadDocumentObservation:
        """What was asked for. Raises `ToolError` with what to do instead."""
        path = place(action.path, context)
        data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
        limit = MOST if action.pages.strip() or action.query.strip() else BEGINNING
        found = await read(data, path, Wanted(action.pages.strip(), action.query.strip(), limit))
        said = await _said(found, path, context)
        if found.unit == "image":
            said += await _seen(data, context)
        return ReadDocumentObservation(
            content=tuple(said),
            path=path,
            kind=found.kind,
            unit=found.unit,
            total=found.total,
            parts=tuple(part.number for part in found.parts),
            title=context.masked(found.title),
            more=found.more,
        )

    async def aclose(self) -> None: ...


async def _said(found: Document, path: str, context: ToolContext) -> list[Content]:
    """The text of a document; where it is cut the whole is kept, and a file that the model may search."""
    text = await anyio.to_thread.run_sync(lambda: context.masked(shown(found, path), by_line=True))
    return await shortened(text, MAX_SHOWN, "document", context)


async def _seen(data: bytes, context: ToolContext) -> list[Content]:
    """An image as a model sees it, and the text in it as tesseract reads it where that is installed."""
    said: list[Content] = []
    if (text := await _recognized(data)) is not None:
        text = context.masked(text, by_line=True).strip() or "[tesseract finds no text in it]"
        said.append(TextContent(f"Text in it, as tesseract reads it:\n{clip(text, MAX_SHOWN)}"))
    kind = image_type(data)
    if kind is not None and len(data) <= MOST_SEEN:
        said.append(ImageContent(f"data:{kind};base64,{base64.b64encode(data).decode()}"))
    elif kind is not None:
        said.append(TextContent(f"[it has {len(data):,} bytes: one of at most {MOST_SEEN:,} can be seen]"))
    return said


async def _recognized(data: bytes) -> str | None:
    """The text in an image; None where there is no tesseract, or it cannot tell."""
    if shutil.which("tesseract") is None:
        return None
    try:
        said = await printed(
            ["/bin/sh", "-c", _RECOGNIZE],
            cwd="/",
            environment={"OMP_THREAD_LIMIT": "1"},
            seconds=_SECONDS,
            most=_MOST_RECOGNIZED,
            given=data,
        )
    except (TimeoutError, OSError):
        return None
    return said.output.decode("utf-8", "replace") if said.code == 0 else None


def _touches(action: ReadDocumentAction, workspace: Workspace) -> tuple[str, ...]:
    return (file_key(action.path, workspace),)


read_document = ToolType(
    name="read_document",
    description=(
        "Read a document as Markdown: PDF, docx, pptx, xlsx, xls, ods, odt, odp, EPUB, HTML, CSV, notebooks, LaTeX,"
        " e-mail, zip, images. Shows its beginning, the pages that are asked for, or where words stand in it."
    ),
    action=ReadDocumentAction,
    executor=ReadDocument,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=_touches,
    effects=reads_path,
    headline=("{path} {pages} {query}", "{path} {pages}", "{path} {query}", "{path}"),
    aliases=("read_pdf", "view_document", "parse_document", "read_docx"),
    parts={"read": {}},
)
