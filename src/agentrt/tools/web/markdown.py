"""The main content of an HTML page as Markdown."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import msgspec

from ...errors import ToolError
from ...loading import load_extra

MOST_PARSED = 2_000_000
"""Characters of a page that are parsed."""

FEW = 200
"""Main content with fewer characters may be a mistake: the whole page is used if it has more than twice as many."""

_NO_TEXT = ("script", "style", "noscript", "template", "svg", "iframe", "object", "head")
_EMPTY_LINES = re.compile(r"\n\s*\n\s*\n+")
_SPACE = re.compile(r"\s+")


class Converted(msgspec.Struct, frozen=True):
    """A page's title and its Markdown."""

    title: str
    text: str


class Library(msgspec.Struct, frozen=True):
    """The modules that read HTML, from the extra `web`."""

    html: ModuleType
    trafilatura: ModuleType
    markdownify: ModuleType


MOST_ELEMENTS = 10_000
"""Rough limit of elements for extracting the main content, which takes memory by the square of sibling elements."""


async def library() -> Library:
    """Import the modules. Raises `ToolError` if they are not installed."""
    return Library(*[await load_extra(name, "web") for name in ("lxml.html", "trafilatura", "markdownify")])


def converted(source: str, url: str, library: Library) -> Converted:
    """Convert a page to Markdown with absolute links: its main content if found, else all of it. For a thread.

    Raises `ToolError` if it cannot be parsed.
    """
    try:
        tree = _tree(source[:MOST_PARSED], url, library)
        title = _SPACE.sub(" ", tree.findtext(".//title") or "").strip()
        main = _main(tree, url, library) if source.count("<") <= 2 * MOST_ELEMENTS else ""
        whole = "" if len(main) >= FEW else _whole(tree, library)
    except Exception as error:  # untrusted HTML (deep nesting, odd names) makes the libraries raise anything
        raise ToolError(f"{url} is HTML that cannot be read ({type(error).__name__}): ask with raw=true") from error
    return Converted(title, whole if len(whole) > 2 * len(main) else main)


def _tree(source: str, url: str, library: Library) -> Any:
    """Parse the page. Nothing is loaded from the network."""
    parser = library.html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    data = source.encode("utf-8", "replace") or b"<html></html>"
    tree = library.html.document_fromstring(data, parser=parser, ensure_head_body=True)
    tree.make_links_absolute(url, resolve_base_href=True, handle_failures="ignore")
    return tree


def _main(tree: Any, url: str, library: Library) -> str:
    found = library.trafilatura.extract(
        tree,
        url=url,
        output_format="markdown",
        include_tables=True,
        include_links=True,
        include_formatting=True,
        include_comments=True,
        favor_recall=True,
        with_metadata=False,
    )
    return (found or "").strip()


def _whole(tree: Any, library: Library) -> str:
    body = tree.find("body")
    if body is None:
        return ""
    for element in list(body.iter(*_NO_TEXT)):
        element.drop_tree()
    source = library.html.tostring(body, encoding="unicode")
    said = library.markdownify.markdownify(source, heading_style="ATX", strip=["img"])
    return _EMPTY_LINES.sub("\n\n", said).strip()
