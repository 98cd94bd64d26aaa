"""OpenDocument texts and presentations (1.3, part 3) as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .archive import Archive
from .document import ENCRYPTED, Unreadable
from .markup import flat, table, tidy, xml
from .selecting import Texts, sections

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SKIPPED = {f"{_TEXT}tracked-changes", f"{_OFFICE}forms", f"{_TEXT}sequence-decls", f"{_TEXT}note-citation"}
_MOST_REPEATED = 100
"""Maximum number of copies of a repeated cell. A table may declare its empty rest as one cell that is repeated."""


def writing(archive: Archive) -> Texts:
    """Return the text of an odt, split at its headings. Raises `Unreadable`."""
    body = _body(archive, "text")
    return Texts("OpenDocument text", "section", sections(tidy("\n\n".join(_blocks(body)))), _title(archive))


def slides(archive: Archive) -> Texts:
    """Return the slides of an odp, with speaker notes. Raises `Unreadable`."""
    found: list[tuple[str, str]] = []
    for page in _body(archive, "presentation").iterchildren(f"{_DRAW}page"):
        title = ""
        for frame in page.iter(f"{_DRAW}frame"):
            if frame.get(f"{_PRESENTATION}class") == "title":
                title = flat("".join(frame.itertext()))
                frame.getparent().remove(frame)
                break
        notes = page.find(f"{_PRESENTATION}notes")
        spoken = ""
        if notes is not None:
            spoken = tidy("\n".join(_blocks(notes)))
            page.remove(notes)
        text = "\n\n".join(_blocks(page))
        found.append((title, tidy(f"{text}\n\nNotes: {spoken}" if spoken else text)))
    if not found:
        raise Unreadable("has no slides")
    return Texts("OpenDocument presentation", "slide", tuple(found), _title(archive))


def check_locked(archive: Archive) -> None:
    """Raise `Unreadable` if a document's manifest says that it is encrypted (OpenDocument 1.3, part 2, 4.3)."""
    if archive.has("META-INF/manifest.xml") and b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise Unreadable(ENCRYPTED)


def _body(archive: Archive, kind: str) -> Any:
    body = xml(archive.read("content.xml")).find(f"{_OFFICE}body/{_OFFICE}{kind}")
    if body is None:
        raise Unreadable(f"is damaged: it has no {kind}")
    return body


def _title(archive: Archive) -> str:
    if not archive.has("meta.xml"):
        return ""
    return flat(xml(archive.read("meta.xml")).findtext(".//{http://purl.org/dc/elements/1.1/}title") or "")


def _blocks(element: Any) -> Iterator[str]:
    """Yield the blocks of text in an element, in order."""
    for child in element.iterchildren("*"):
        if child.tag in _SKIPPED:
            continue
        if child.tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level", "1")
            yield f"{'#' * min(int(level) if level.isdecimal() else 1, 6)} {flat(_inline(child))}"
        elif child.tag == f"{_TEXT}p":
            yield _inline(child).strip()
            for frame in child.iter(f"{_DRAW}text-box"):
                yield from _blocks(frame)
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(_items(child, 0))
        elif child.tag == f"{_TABLE}table":
            yield table(_rows(child))
        elif child.tag == f"{_DRAW}image":
            if child.getprevious() is None:  # a later one stands in for the sibling before it, such as a table
                yield "[image]"
        else:
            yield from _blocks(child)


def _items(element: Any, level: int) -> Iterator[str]:
    for item in element.iterchildren(f"{_TEXT}list-item", f"{_TEXT}list-header"):
        for child in item.iterchildren("*"):
            if child.tag == f"{_TEXT}list":
                yield from _items(child, level + 1)
            elif text := flat(_inline(child)):
                yield f"{'  ' * level}- {text}"


def _rows(element: Any) -> Iterator[list[str]]:
    for row in element.iter(f"{_TABLE}table-row"):
        if next(row.iterancestors(f"{_TABLE}table")) is not element:
            continue
        cells: list[str] = []
        for child in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            times = child.get(f"{_TABLE}number-columns-repeated", "1")
            text = flat(" ".join(_blocks(child)))
            cells += [text] * min(int(times) if times.isdecimal() else 1, _MOST_REPEATED)
        yield cells


def _inline(element: Any) -> str:
    """Return the text of a paragraph, with links as Markdown and notes in brackets. `_blocks` adds its text boxes."""
    said = [element.text or ""]
    for child in element.iterchildren("*"):
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            said.append(" " * min(int(count) if count.isdecimal() else 1, 100))
        elif child.tag == f"{_TEXT}tab":
            said.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            said.append("\n")
        elif child.tag == f"{_TEXT}a":
            said.append(f"[{_inline(child)}]({child.get(_LINK, '')})")
        elif child.tag == f"{_TEXT}note":
            said.append(f" [note: {flat(' '.join(_blocks(child)))}]")
        elif child.tag == f"{_OFFICE}annotation":
            said.append(f" [comment: {flat(' '.join(_blocks(child)))}]")
        elif child.tag == f"{_DRAW}frame":
            said.append("[image]" if child.find(f"{_DRAW}image") is not None else "")
        elif child.tag not in _SKIPPED:
            said.append(_inline(child))
        said.append(child.tail or "")
    return "".join(said)
