"""`select`: chooses parts of a document: its beginning, named parts, or parts that match a query. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from .document import Document, Part, Unreadable, Wanted

AROUND = 200
"""Characters that are shown before and after a match."""

MOST_PLACES = 3
"""Maximum number of excerpts of one part."""

MOST_FOUND = 25
"""Maximum number of matching parts that are returned."""

LONGEST_PART = 20_000
"""Characters after which a section is split."""

_RANGE = re.compile(r"(\d+)\s*(?:(-)\s*(\d*))?")
_HEADING = re.compile(r"#{1,2}[ \t]+(\S.*)")
_FENCE = re.compile(r"\s*(```|~~~)")


class Source(Protocol):
    """An opened document. Its parts are made on request, by their index from 0."""

    @property
    def kind(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def names(self) -> Sequence[str]:
        """The name of each part, "" if it has none."""
        ...

    def text(self, index: int) -> str:
        """Return the Markdown of a part."""
        ...

    def plain(self, index: int) -> str:
        """Return the text of a part for a search, which may be faster to make."""
        ...


@runtime_checkable
class Perceptible(Protocol):
    """A `Source` that has more than text."""

    def perceived(self, parts: Sequence[Part], wanted: Wanted) -> Sequence[Part]:
        """Return the parts with their pictures and sound."""
        ...


class Texts(msgspec.Struct, frozen=True):
    """A `Source` whose parts are all in memory."""

    kind: str
    unit: str
    parts: tuple[tuple[str, str], ...]
    """The name and the Markdown of each part."""
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> Sequence[str]:
        return [name for name, _ in self.parts]

    def text(self, index: int) -> str:
        return self.parts[index][1]

    def plain(self, index: int) -> str:
        return self.parts[index][1]


def select(source: Source, wanted: Wanted) -> Document:
    """Return the wanted parts of a document. Raises `Unreadable` if it does not have them."""
    chosen = numbers(wanted.pages, source.names, source.unit) if wanted.pages else range(1, len(source.names) + 1)
    if wanted.query:
        return _found(source, wanted, chosen)
    parts, room, notes, names = list[Part](), wanted.limit, list[str](), source.names
    for number in chosen:
        if parts and room <= 0:
            break
        text = source.text(number - 1)
        if parts and len(text) > room:
            break
        parts.append(Part(number, names[number - 1], text[: wanted.limit]))
        if len(text) > wanted.limit:
            whole = "" if wanted.pages else f": pages='{number}' gives more of it"
            notes.append(f"{source.unit} {number} has {len(text):,} characters, of which the first are shown{whole}")
        room -= len(text)
    if wanted.media and isinstance(source, Perceptible):
        parts = [*source.perceived(parts, wanted)]
    return Document(
        kind=source.kind,
        unit=source.unit,
        total=len(source.names),
        parts=tuple(parts),
        title=source.title,
        more=spans(chosen[len(parts) :]),
        notes=(*notes, *source.notes),
    )


def numbers(pages: str, names: Sequence[str], unit: str) -> Sequence[int]:
    """Return the numbers of the parts in `pages`, named by number or name, in that order, each once.

    Raises `Unreadable` if there is no such part.
    """
    folded: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        folded.setdefault(name.casefold(), number)
    folded.pop("", None)
    if (named := folded.get(pages.strip().casefold())) is not None:
        return (named,)
    found: dict[int, None] = {}
    for piece in filter(None, map(str.strip, pages.split(","))):
        if (named := folded.get(piece.casefold())) is not None:
            found[named] = None
        else:
            found.update(dict.fromkeys(_span(piece, len(names), unit)))
    if not found:
        raise Unreadable(f"has no {unit} {pages!r}: ask for numbers such as pages='1-3,7'")
    return tuple(found)


def _span(piece: str, total: int, unit: str) -> Iterable[int]:
    match = _RANGE.fullmatch(piece)
    if match is None:
        raise Unreadable(f"has no {unit} {piece!r}: ask for numbers such as pages='1-3,7'")
    first = int(match[1])
    last = int(match[3] or total) if match[2] else first
    if not 1 <= first <= min(last, total):
        raise Unreadable(f"has {count(total, unit)}: there is no {unit} {piece}")
    return range(first, min(last, total) + 1)


def spans(chosen: Sequence[int]) -> str:
    """Return numbers in the form of `pages`: 1-3,7."""
    said: list[str] = []
    for number in chosen:
        first, _, last = said[-1].partition("-") if said else ("", "", "")
        if said and number == int(last or first) + 1:
            said[-1] = f"{first}-{number}"
        else:
            said.append(str(number))
    return ",".join(said)


def count(number: int, unit: str) -> str:
    """Return a number of parts in words: 1 page, 2 entries."""
    plural = f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"
    return f"{number:,} {unit if number == 1 else plural}"


def _found(source: Source, wanted: Wanted, chosen: Sequence[int]) -> Document:
    texts = {number: source.plain(number - 1) for number in chosen}
    phrase, words = patterns(wanted.query)
    hits = [number for number, text in texts.items() if phrase.search(text)]
    places, names = [phrase], source.names
    if not hits and len(words) > 1:
        hits = [number for number, text in texts.items() if all(word.search(text) for word in words)]
        places = words
    parts, room = list[Part](), wanted.limit
    for number in hits[:MOST_FOUND]:
        text = _around(texts[number], places)
        if parts and len(text) > room:
            break
        parts.append(Part(number, names[number - 1], text))
        room -= len(text)
    where = f"stands in {count(len(hits), source.unit)}" if hits else "stands nowhere in it"
    listed = f": {spans(hits)}" if hits else ""
    shown = f" (the first {len(parts)} are shown)" if len(parts) < len(hits) else ""
    note = f"{wanted.query!r} {where}{listed}{shown}"
    return Document(
        kind=source.kind,
        unit=source.unit,
        total=len(source.names),
        parts=tuple(parts),
        title=source.title,
        notes=(note, *source.notes),
    )


def patterns(query: str) -> tuple[re.Pattern[str], list[re.Pattern[str]]]:
    """Return a pattern for the whole query, with any white space between its words, and one for each word.

    Raises `Unreadable` if it has no words.
    """
    words = [re.escape(word) for word in query.split()]
    if not words:
        raise Unreadable("cannot be searched for nothing: give query some words")
    return re.compile(r"\s+".join(words), re.IGNORECASE), [re.compile(word, re.IGNORECASE) for word in words]


def _around(text: str, places: Sequence[re.Pattern[str]]) -> str:
    """Return excerpts of a text: the first matches of the patterns, with the text around them."""
    spots = sorted(match.span() for place in places for match in _first(place, text))
    shown: list[tuple[int, int]] = []
    for first, last in spots:
        begin, end = max(first - AROUND, 0), min(last + AROUND, len(text))
        if shown and begin <= shown[-1][1]:
            shown[-1] = (shown[-1][0], max(end, shown[-1][1]))
        elif len(shown) < MOST_PLACES:
            shown.append((begin, end))
    pieces = (text[begin:end].strip() for begin, end in shown)
    return "\n\n".join(f"… {piece} …" for piece in pieces)


def _first(pattern: re.Pattern[str], text: str) -> Iterable[re.Match[str]]:
    for number, match in enumerate(pattern.finditer(text)):
        if number == MOST_PLACES * 3:
            return
        yield match


def sections(markdown: str) -> tuple[tuple[str, str], ...]:
    """Split Markdown at headings of the first two levels, and where a section is too long. Return the heading and text
    of each section.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced, size = False, 0
    for line in markdown.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is not None:
            found.append((heading[1].strip(), []))
            size = 0
        elif size > LONGEST_PART or (size > LONGEST_PART * 3 // 4 and not line.strip() and not fenced):
            found.append(("", []))
            size = 0
        for at in range(0, len(line) or 1, LONGEST_PART):
            if at:
                found.append(("", []))
            found[-1][1].append(line[at : at + LONGEST_PART])
        size += len(line) % LONGEST_PART + 1
    parts = [(name, "\n".join(lines).strip("\n")) for name, lines in found]
    return tuple(part for part in parts if part[1]) or (("", ""),)
