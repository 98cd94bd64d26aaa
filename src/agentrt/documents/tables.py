"""`select_rows`: chooses sheets and rows of a workbook. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

import msgspec

from .document import Document, Part, Unreadable, Wanted
from .markup import cell
from .selecting import count, patterns

MOST_COLUMNS = 100
"""Maximum number of columns of a sheet that are shown."""

MOST_ROWS = 100
"""Maximum number of matching rows that are shown."""

Row: TypeAlias = Sequence[object]

_ROWS = re.compile(r"(.*)!\s*(\d+)\s*(?:(-)\s*(\d*))?", re.DOTALL)
_ALONE = re.compile(r"(\d+)\s*(?:(-)\s*(\d*))?")
_NUMBERS = re.compile(r"(\d+)\s*(?:-\s*(\d+))?")


class Sheet(msgspec.Struct, frozen=True):
    """A sheet. `total` is its number of rows; `rows` reads them from a given number on, which counts from 1."""

    name: str
    total: int
    rows: Callable[[int], Iterator[Row]]


class Book(msgspec.Struct, frozen=True):
    """A workbook: the names of its sheets, and `sheet`, which opens one by index. `plain`: a table without sheets."""

    kind: str
    names: Sequence[str]
    sheet: Callable[[int], Sheet]
    plain: bool = False


class Chosen(msgspec.Struct, frozen=True):
    """A range of rows of a sheet, counted from 1. If `last` is 0, it goes to the end."""

    index: int
    first: int = 1
    last: int = 0


def select_rows(book: Book, wanted: Wanted) -> Document:
    """Return the wanted rows of a workbook. Raises `Unreadable` for sheets or rows that it does not have."""
    chosen = _chosen(book, wanted.pages) if wanted.pages else [Chosen(index) for index in range(len(book.names))]
    if wanted.query:
        return _found(book, wanted, chosen)
    parts, more, room = list[Part](), list[str](), wanted.limit
    for place, one in enumerate(chosen):
        share = room // min(len(chosen) - place, 5)
        if parts and share < 500:
            more += [_reference(book, left) for left in chosen[place:]]
            break
        sheet = book.sheet(one.index)
        if one.first > max(sheet.total, 1):
            raise Unreadable(f"has {count(sheet.total, 'row')} in {sheet.name or 'it'}: there is no row {one.first}")
        last = min(one.last or sheet.total, sheet.total)
        text, ended = _shown(_numbered(sheet, one.first), last, share)
        if ended < last:
            more.append(_reference(book, Chosen(one.index, ended + 1, one.last)))
        span = f", rows {one.first:,} to {ended:,}" if (one.first, ended) != (1, sheet.total) else ""
        head = f"[{count(sheet.total, 'row')}{span}]\n"
        parts.append(Part(one.index + 1, sheet.name, head + text))
        room -= len(text)
    return Document(book.kind, "table" if book.plain else "sheet", len(book.names), tuple(parts), more=",".join(more))


def _numbered(sheet: Sheet, first: int) -> Iterator[tuple[int, Row]]:
    return enumerate(sheet.rows(first), first)


def _shown(rows: Iterable[tuple[int, Row]], last: int, room: int) -> tuple[str, int]:
    """Return a table of the rows up to `last`, limited to `room` characters, and the number of the last row in it."""
    lines, width, ended, size, cut = list[list[str]](), 0, 0, 0, False
    for number, row in rows:
        if number > last:
            break
        cells = _cells(row)
        size += sum(map(len, cells)) + 3 * len(cells) + 10
        if size > room and lines:
            cut = True
            break
        ended = number
        if cells:
            lines.append([str(number), *cells])
            width = max(width, len(cells))
    ended = ended if cut else last
    return (drawn(lines, width) if lines else "[it is empty]"), ended


def drawn(lines: list[list[str]], width: int) -> str:
    """Return a Markdown table of rows, whose first cell is the row number, under the letters of the columns."""
    head = ["row", *map(letters, range(width))]
    filled = [row + [""] * (width + 1 - len(row)) for row in lines]
    return "\n".join(
        ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(row) + " |" for row in filled)]
    )


def letters(column: int) -> str:
    """Return the name of a column, counted from 0: A, Z, AA."""
    said = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        said = chr(65 + digit) + said
    return said


def _cells(row: Row) -> list[str]:
    cells = [cell(_value(value)) for value in row[:MOST_COLUMNS]]
    while cells and not cells[-1]:
        cells.pop()
    if len(row) > MOST_COLUMNS and any(_value(value) != "" for value in row[MOST_COLUMNS:]):
        cells += [""] * (MOST_COLUMNS - len(cells)) + [f"… {len(row) - MOST_COLUMNS:,} more columns"]
    return cells


def _value(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            return int(value)
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return value


def _chosen(book: Book, pages: str) -> list[Chosen]:
    folded = {name.casefold(): index for index, name in enumerate(book.names)}
    if pages.strip().casefold() in folded:
        return [Chosen(folded[pages.strip().casefold()])]
    found: list[Chosen] = []
    for piece in filter(None, map(str.strip, pages.split(","))):
        rows = _ROWS.fullmatch(piece)
        if rows is None and book.plain and (alone := _ALONE.fullmatch(piece)):
            found.append(_rows(0, alone[1], alone[2], alone[3]))
        elif rows is not None:
            index = _sheet(book, rows[1].strip().strip("'"), folded) if rows[1].strip() else 0
            found.append(_rows(index, rows[2], rows[3], rows[4]))
        elif piece.casefold() not in folded and (span := _NUMBERS.fullmatch(piece)) and span[2]:
            first, last = int(span[1]), min(int(span[2]), len(book.names))
            found += [Chosen(_sheet(book, str(number), folded)) for number in range(first, max(first, last) + 1)]
        else:
            found.append(Chosen(_sheet(book, piece, folded)))
    if not found:
        raise Unreadable("has sheets and rows: ask for pages='1', 'NAME' or 'NAME!100-200'")
    return found


def _rows(index: int, first: str, dash: str | None, last: str | None) -> Chosen:
    begin = max(int(first), 1)
    return Chosen(index, begin, (int(last) if last else 0) if dash else begin)


def _sheet(book: Book, name: str, folded: dict[str, int]) -> int:
    if (index := folded.get(name.casefold())) is not None:
        return index
    if name.isdecimal() and 1 <= int(name) <= len(book.names):
        return int(name) - 1
    known = ", ".join(map(repr, book.names[:30]))
    raise Unreadable(f"has no sheet {name!r}: it has {known}" if known else "has no sheets")


def _reference(book: Book, one: Chosen) -> str:
    rows = f"{one.first}-{one.last or ''}" if one.first > 1 or one.last else ""
    if book.plain:
        return rows or "1-"
    name = book.names[one.index]
    plain = name if not re.search(r"[,!']", name) and not name.isdecimal() else str(one.index + 1)
    return f"{plain}!{rows}" if rows else plain


def _found(book: Book, wanted: Wanted, chosen: Sequence[Chosen]) -> Document:
    """Return the rows that contain all words of the query, under the first row of their sheet."""
    _, words = patterns(wanted.query)
    parts, total, shown, room = list[Part](), 0, 0, wanted.limit
    for one in chosen:
        sheet = book.sheet(one.index)
        last, lines, width, hits = one.last or sheet.total, list[list[str]](), 0, 0
        for number, row in _numbered(sheet, one.first):
            if number > last:
                break
            said = "\n".join(str(_value(value)) for value in row if value not in ("", None))
            if not all(word.search(said) for word in words):
                continue
            hits += 1
            if shown < MOST_ROWS and room > 0:
                lines.append([str(number), *_cells(row)])
                width, shown, room = max(width, len(lines[-1]) - 1), shown + 1, room - len(said)
        if lines:
            head = [] if lines[0][0] == "1" else [["1", *_cells(next(iter(sheet.rows(1)), ()))]]
            width = max(width, *(len(line) - 1 for line in head), 1)
            parts.append(Part(one.index + 1, sheet.name, f"[{count(hits, 'row')}]\n{drawn(head + lines, width)}"))
        total += hits
    where = f"stands in {count(total, 'row')}" if total else "stands nowhere in it"
    cut = f" (the first {shown} are shown)" if shown < total else ""
    unit = "table" if book.plain else "sheet"
    return Document(book.kind, unit, len(book.names), tuple(parts), notes=(f"{wanted.query!r} {where}{cut}",))
