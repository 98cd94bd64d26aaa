"""`read`: chooses the reader for a document and reads the wanted parts. Runs in the worker."""

from __future__ import annotations

from msgspec.structs import replace

from .archive import MOST_STREAMED, MOST_UNPACKED, Archive
from .containers import Holder, mail, packed
from .document import DAMAGED, Document, Unreadable, Wanted
from .epub import Epub
from .kinds import Kind, format_of, kind_of, refusal, suffix_of
from .office import presentation, word
from .opendocument import check_locked, slides, writing
from .pdf import Pdf
from .picture import Image
from .recording import Recording
from .selecting import Source, select
from .tables import Book, select_rows
from .workbooks import separated, workbook
from .writing import latex, notebook, page, plain

DEEPEST = 3
"""Maximum depth of nested archives."""


def read(data: bytes, name: str, wanted: Wanted, media_type: str = "", depth: int = 0) -> Document:
    """Return the wanted parts of a document. If its bytes do not tell its kind, its name or media type does.

    Raises `Unreadable`, `ImportError` if a library is not installed, and any error that a library raises for a file
    that it does not understand.
    """
    if not data:
        raise Unreadable("is empty")
    kind = kind_of(name, data, media_type)
    opened = _opened(kind, data, name)
    if isinstance(opened, Book):
        return select_rows(opened, wanted)
    if isinstance(opened, Recording):  # a query needs the transcript, so it waits for that
        return select(opened, wanted if not wanted.query else replace(wanted, query="", pages=wanted.pages or "1-"))
    if not isinstance(opened, Holder):
        return select(opened, wanted)
    entry, inner = _entry(opened, wanted.pages)
    if not entry:
        return select(opened.texts, wanted)
    if depth == DEEPEST:
        raise Unreadable(f"has archives in archives, more than {DEEPEST} deep: refused")
    try:
        return read(opened.read(entry), entry, replace(wanted, pages=inner), depth=depth + 1)
    except Unreadable as error:
        raise Unreadable(f"has {entry}, which {error}") from error


def _entry(holder: Holder, pages: str) -> tuple[str, str]:
    """Return the entry that `pages` names, and the entry's own `pages` after an exclamation mark."""
    if pages in holder.names:
        return pages, ""
    name, mark, inner = pages.partition("!")
    while mark:
        if name in holder.names:
            return name, inner
        more, mark, inner = inner.partition("!")
        name = f"{name}!{more}"
    if pages and not pages[0].isdecimal():
        raise Unreadable(f"has no entry {pages!r}: its beginning lists them")
    return "", ""


def _opened(kind: Kind, data: bytes, name: str) -> Source | Book | Holder:
    match kind:
        case "pdf":
            return Pdf(data)
        case "image":
            return Image(data)
        case "media":
            return Recording(data, _format(name, data))
        case "html":
            return page(data)
        case "csv":
            return separated(data, tabs=suffix_of(name) == ".tsv")
        case "notebook":
            return notebook(data)
        case "latex":
            return latex(data)
        case "mail":
            return mail(data)
        case "text":
            return plain(data)
        case "office":
            raise Unreadable(refusal(data))
        case "zip":
            return packed(Archive(data))
        case _:
            return _of_zip(kind, data)


def _format(name: str, data: bytes) -> str:
    if (found := format_of(name, data)) is None:
        raise Unreadable(DAMAGED)
    return found


def _of_zip(kind: Kind, data: bytes) -> Source | Book:
    """Open a document that is a zip file, or an old workbook that is not."""
    if kind == "workbook" and not data.startswith(b"PK"):
        if not data.startswith(b"\xd0\xcf\x11\xe0"):
            raise Unreadable(DAMAGED)
        return workbook(data)
    archive = Archive(data, MOST_STREAMED if kind == "workbook" else MOST_UNPACKED)
    archive.check_xml()
    check_locked(archive)
    match kind:
        case "docx":
            return word(data)
        case "pptx":
            return presentation(data)
        case "workbook":
            return workbook(data)
        case "odt":
            return writing(archive)
        case "odp":
            return slides(archive)
        case _:
            return Epub(archive)
