"""`read_document`: PDF, office files, books, tables, e-mail, archives, images, audio and video as Markdown."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...documents.document import BEGINNING, MOST, Document, Wanted
from ...documents.rendering import shown
from ...documents.running import read_document as read
from ...executing import Observation, ToolContext
from ...placing import Place
from ...specs import Content, OnCrash, WorkspaceSpec
from ..declared import READS, reads_path
from ..definition import Params, ToolType, file_key
from ..files.documents import MOST_BYTES
from ..files.opened import bytes_of, place
from ..shortened import shortened
from .hearing import SECONDS, TRANSCRIBER, heard
from .seeing import labelled, pictures, recognized, seen

MAX_SHOWN = 30_000
"""Characters of a document that one call shows the model."""


class ReadDocumentAction(msgspec.Struct, frozen=True):
    """Arguments of `read_document`."""

    path: Annotated[str, Meta(description="The file: an absolute path, or one from the workspace on.")]
    pages: Annotated[
        str,
        Meta(
            description=(
                "Pages, slides, chapters, sections, cells or 5-minute parts such as '1-3,7,10-'; a sheet and its rows:"
                " 'Costs!100-200'; an entry of a zip or e-mail: 'a/b.pdf', with pages of its own: 'a/b.pdf!2'. Default:"
                " the beginning."
            )
        ),
    ] = ""
    query: Annotated[str, Meta(description="Words to look for: gives the pages or rows in which they stand.")] = ""


class ReadDocumentObservation(Observation, frozen=True, kw_only=True):
    """What the document is, the numbers of the parts that are shown, from 1, and how many there are."""

    path: str
    kind: str = ""
    unit: str = ""
    total: int = 0
    parts: tuple[int, ...] = ()
    title: str = ""
    more: str = ""


class ReadDocument:
    """The executor. Params: `transcriber`, the model that transcribes speech."""

    def __init__(self, params: Params) -> None:
        given = params.get("transcriber")
        self._transcriber = given if isinstance(given, str) and given else TRANSCRIBER

    async def __call__(self, action: ReadDocumentAction, context: ToolContext) -> ReadDocumentObservation:
        """Read what was asked for. Raises `ToolError` that says what to do instead."""
        path = place(action.path, context)
        data = await anyio.to_thread.run_sync(partial(bytes_of, path, context, MOST_BYTES))
        limit = MOST if action.pages.strip() or action.query.strip() else BEGINNING
        wanted = Wanted(action.pages.strip(), action.query.strip(), limit, media=True)
        found = await read(context.place, data, path, wanted, seconds=SECONDS)
        found = await _with_scans(found, context.place)
        found = await heard(found, wanted, self._transcriber, context)
        said = await _said(found, path, context)
        if found.unit == "image":
            for picture in pictures(found.parts):
                said += await seen(data, picture.jpeg, context, MAX_SHOWN)
        else:
            said += labelled(found.parts)
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


async def _with_scans(found: Document, where: Place) -> Document:
    """Return a document whose pages without text have the text that tesseract recognizes, if it is installed."""
    if found.unit != "page":
        return found
    texts = {picture.label: await recognized(where, picture.jpeg) for picture in pictures(found.parts)}
    parts = (
        replace(part, text=f"[as tesseract reads it:]\n\n{read_so}")
        if part.pictures and (read_so := texts[part.pictures[0].label])
        else part
        for part in found.parts
    )
    return replace(found, parts=tuple(parts))


async def _said(found: Document, path: str, context: ToolContext) -> list[Content]:
    """Return the text of a document. If it is cut, the whole is kept, also in a file that the model may search."""
    text = await anyio.to_thread.run_sync(lambda: context.masked(shown(found, path), by_line=True))
    return await shortened(text, MAX_SHOWN, "document", context)


def _touches(action: ReadDocumentAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(action.path, workspace),)


read_document = ToolType(
    name="read_document",
    description=(
        "Read a document as Markdown: PDF, docx, pptx, xlsx, xls, ods, odt, odp, EPUB, HTML, CSV, notebooks, LaTeX,"
        " e-mail, zip, images, audio and video (what is said, and frames). Shows its beginning, the pages that are"
        " asked for, or where words stand in it."
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
