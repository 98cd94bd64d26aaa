"""Workbooks of Excel and OpenDocument, read by calamine, and comma-separated values."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import BytesIO, StringIO
from itertools import islice

from .charsets import text_of
from .document import DAMAGED, ENCRYPTED, Unreadable
from .formulas import Formulas
from .tables import Book, Row, Sheet

_LOCKED = re.compile(rb"\x09\x08\x10\x00.{16}\x2f\x00", re.DOTALL)
"""The start of an encrypted Excel 97 workbook: its first record and then FilePass (MS-XLS 2.4.21, 2.4.117)."""

_SNIFFED = 64 << 10
_DELIMITERS = ",;\t|"


def workbook(data: bytes) -> Book:
    """Open an xlsx, xlsm, xlsb, xls or ods: values, and no macros; of an xlsx or xlsm also the formulas that have no
    values. Opening a sheet parses all of it.

    Raises `Unreadable`.
    """
    import python_calamine as calamine

    try:
        found = calamine.CalamineWorkbook.from_filelike(BytesIO(data))
    except calamine.PasswordError as error:
        raise Unreadable(ENCRYPTED) from error
    except calamine.CalamineError as error:
        raise Unreadable(ENCRYPTED if _LOCKED.search(data) else DAMAGED) from error

    formulas = Formulas(data)

    def sheet(index: int) -> Sheet:
        return formulas.added(values(index))

    def values(index: int) -> Sheet:
        try:
            opened = found.get_sheet_by_index(index)
        except calamine.CalamineError as error:
            raise Unreadable(f"{DAMAGED} (sheet {found.sheet_names[index]!r})") from error
        if opened.start is None or opened.end is None:
            return Sheet(opened.name, 0, lambda first: iter(()))
        before, total = [""] * opened.start[1], opened.end[0] + 1

        def rows(first: int) -> Iterator[Row]:
            return ([*before, *row] for row in islice(opened.iter_rows(), first - 1, None))

        return Sheet(opened.name, total, rows)

    return Book("workbook", tuple(found.sheet_names), sheet)


def separated(data: bytes, tabs: bool = False) -> Book:
    """Open comma-separated values (RFC 4180), or those with semicolons, tabs or bars. Raises `Unreadable`."""
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("is not a table: it is binary")
    text = text_of(data)
    delimiter = "\t" if tabs else _delimiter(text[:_SNIFFED])
    csv.field_size_limit(1 << 24)

    def rows(first: int) -> Iterator[Row]:
        try:
            yield from islice(csv.reader(StringIO(text, newline=""), delimiter=delimiter), first - 1, None)
        except csv.Error as error:
            raise Unreadable(f"is damaged: {error}") from error

    total = sum(1 for _ in rows(1))
    return Book("table", ("",), lambda index: Sheet("", total, rows), plain=True)


def _delimiter(head: str) -> str:
    """Return the delimiter with the highest minimum count in the first 20 lines."""
    lines = [line for line in head.splitlines()[:20] if line]
    if not lines:
        return ","
    counts = {mark: [line.count(mark) for line in lines] for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: (min(counts[mark]) > 0, min(counts[mark]), sum(counts[mark])))
