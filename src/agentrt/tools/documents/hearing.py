"""Has a model transcribe a recording part by part, within the budget of the conversation."""

from __future__ import annotations

from msgspec.structs import replace

from ...documents.document import Document, Wanted
from ...documents.selecting import Texts, select
from ...executing import ToolContext

TRANSCRIBER = "whisper-1"
"""The model that transcribes speech if no other one is named."""

SECONDS = 120
"""Seconds of wall clock, and of CPU, for reading a document including the sound and the frames of a recording."""

SILENCE = "[nothing is said]"


async def heard(document: Document, wanted: Wanted, model: str, context: ToolContext) -> Document:
    """Return a document whose parts with sound have the transcript as their text; with a query, only the parts that
    match it.

    Raises `ToolError`. The transcripts made until then are in the tool's output.
    """
    texts = dict[int, str]()
    for part in document.parts:
        if not part.sound:
            continue
        context.output(f"{part.name}: listening\n")
        texts[part.number] = await context.models.hear(part.sound, part.seconds, model) or SILENCE
        context.output(f"{texts[part.number]}\n")
    if not texts:
        return document
    parts = tuple(replace(part, text=texts.get(part.number, part.text), sound=b"") for part in document.parts)
    written = replace(document, parts=parts)
    return _found(written, wanted.query) if wanted.query else written


def _found(document: Document, query: str) -> Document:
    """Return the parts that match a query, with their original numbers."""
    source = Texts(document.kind, document.unit, tuple((part.name, part.text) for part in document.parts))
    found = select(source, Wanted(query=query))
    own = document.parts
    parts = tuple(replace(own[part.number - 1], text=part.text) for part in found.parts)
    listened = f"listened to: {document.unit} {own[0].number} to {own[-1].number} of {document.total}"
    notes = (*found.notes, *document.notes, *((listened,) if len(own) < document.total else ()))
    return replace(document, parts=parts, notes=notes)
