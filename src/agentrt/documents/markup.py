"""Parsing of HTML and XML without entities, network or files, and HTML as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from .archive import check_prolog
from .document import DAMAGED, Unreadable

LONGEST_CELL = 1_000
"""Maximum characters of a cell; the rest is cut."""

NO_TEXT = ("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "head", "audio", "video")
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*\n+")
_SPACE = re.compile(r"\s+")


def xml(data: bytes) -> Any:
    """Return the root element of XML. Raises `Unreadable` if it is malformed or declares entities."""
    etree = import_module("lxml.etree")
    check_prolog(data[: 64 << 10])
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(DAMAGED) from error


def html(source: str) -> Any:
    """Parse a page. Nothing that it refers to is loaded."""
    from lxml import html as parsing

    parser = parsing.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    data = source.encode("utf-8", "replace") or b"<html></html>"
    return parsing.document_fromstring(data, parser=parser, ensure_head_body=True)


def title_of(tree: Any) -> str:
    """Return the title of a page on one line."""
    return flat(tree.findtext(".//title") or "")


def markdown_of(tree: Any) -> str:
    """Return the body of a parsed page as Markdown; an image is its alternative text. Nothing is loaded.

    The tree is changed.
    """
    from lxml import html as parsing
    from markdownify import markdownify

    body = tree.find("body")
    if body is None:
        return ""
    for element in list(body.iter(*NO_TEXT)):
        element.drop_tree()
    for element in list(body.iter("a")):
        if (element.get("href") or "#").startswith("#"):
            element.drop_tag()
    for element in list(body.iter("img")):
        if words := flat(element.get("alt") or ""):
            element.tail = f"[image: {words}]{element.tail or ''}"
        element.drop_tree()
    source = str(parsing.tostring(body, encoding="unicode"))
    said = markdownify(source, heading_style="ATX", bullets="-", table_infer_header=True)
    return tidy(said)


def tidy(text: str) -> str:
    """Return text with one empty line in place of several, and none at its ends."""
    return _EMPTY_LINES.sub("\n\n", text).strip()


def flat(text: str) -> str:
    """Return text on one line."""
    return _SPACE.sub(" ", text).strip()


def cell(value: object) -> str:
    """Return a value as the text of a table cell."""
    text = flat(str(value) if value is not None else "")
    if len(text) > LONGEST_CELL:
        text = text[:LONGEST_CELL] + "…"
    return text.replace("|", "\\|")


def table(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a Markdown table with the first row as its head; "" without rows."""
    cells = [[cell(value) for value in row] for row in rows]
    width = max(map(len, cells), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
