"""EPUB (3.3, and 2.0.1): the chapters of a book in reading order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from .archive import Archive
from .charsets import text_of
from .document import ENCRYPTED, Unreadable
from .markup import flat, html, markdown_of, xml

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
_XHTML = "{http://www.w3.org/1999/xhtml}"


class Epub:
    """A `Source` of chapters. Raises `Unreadable` if the archive is not a book, is damaged or is encrypted."""

    kind, unit = "EPUB", "chapter"
    notes: tuple[str, ...] = ()

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        root = xml(archive.read(_CONTAINER)).find(".//{*}rootfile")
        path = root.get("full-path", "") if root is not None else ""
        package = xml(archive.read(path))
        items = {item.get("id"): item for item in package.iter(f"{_OPF}item")}
        spine = (items.get(each.get("idref")) for each in package.iter(f"{_OPF}itemref"))
        self._paths = [_below(path, item.get("href", "")) for item in spine if item is not None]
        if not self._paths:
            raise Unreadable("is damaged: it has no chapters")
        if archive.has(_ENCRYPTION) and self._is_locked():
            raise Unreadable(ENCRYPTED)
        self.title = flat(package.findtext(f".//{_DC}title") or "")
        named = dict(self._contents(path, items))
        self.names: Sequence[str] = [named.get(each, "") for each in self._paths]

    def plain(self, index: int) -> str:
        return self.text(index)

    def text(self, index: int) -> str:
        """Return a chapter as Markdown."""
        name = self._paths[index]
        return markdown_of(html(text_of(self._archive.read(name), markup=True)))

    def _is_locked(self) -> bool:
        """Return whether chapters are encrypted. Fonts often are, which does not matter (OCF 3.3, 4.2.6.3.2)."""
        locked = xml(self._archive.read(_ENCRYPTION)).iter("{*}CipherReference")
        return not {unquote(each.get("URI", "")) for each in locked}.isdisjoint(self._paths)

    def _contents(self, path: str, items: dict[Any, Any]) -> Iterator[tuple[str, str]]:
        """Yield the paths of chapters, each with its first name in the table of contents."""
        found: dict[str, str] = {}
        for item in items.values():
            is_nav = "nav" in item.get("properties", "").split()
            if not is_nav and item.get("media-type") != "application/x-dtbncx+xml":
                continue
            place = _below(path, item.get("href", ""))
            if not self._archive.has(place):
                continue
            tree = xml(self._archive.read(place))
            for link in tree.iter(f"{_XHTML}a"):
                found.setdefault(_below(place, link.get("href", "")), flat("".join(link.itertext())))
            for point in tree.iter(f"{_NCX}navPoint"):
                content, label = point.find(f"{_NCX}content"), point.findtext(f"{_NCX}navLabel/{_NCX}text")
                if content is not None and label:
                    found.setdefault(_below(place, content.get("src", "")), flat(label))
        yield from found.items()


def _below(base: str, href: str) -> str:
    """Return the path in the archive that a link in its file `base` leads to."""
    return normpath(join(dirname(base), unquote(href.partition("#")[0])))
