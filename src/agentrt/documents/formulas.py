"""The formulas of a workbook that has no values for them, as programs write it that calculate nothing."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cached_property
from io import BytesIO
from itertools import islice, zip_longest
from typing import Any

from .tables import Row, Sheet

_WITHOUT_VALUE = re.compile(rb"(?:</f>|<f\b[^<>]*+(?<=/)>)\s*+(?:<v\s*+/>\s*+|<v>\s*+</v>\s*+)?</c>")
"""The end of a cell with a formula and no value (ECMA-376-1, 18.3.1.4)."""

_OVERLAP = 64
_PIECE = 1 << 20


class Formulas:
    """The formulas of an xlsx or xlsm. Other workbooks have none here."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def _sheets(self) -> list[Any]:
        """The sheets as openpyxl has them, which reads them slowly; none if every formula has a value."""
        if not self._data.startswith(b"PK") or not any(map(_WITHOUT_VALUE.search, _pieces(self._data))):
            return []
        import openpyxl

        try:
            return list(openpyxl.load_workbook(BytesIO(self._data), read_only=True).worksheets)
        except Exception:  # it raises whatever a strange part makes of it; the values are there without it
            return []

    def added(self, sheet: Sheet) -> Sheet:
        """Return a sheet with the formula in each cell that is empty and has one."""
        found = next((one for one in self._sheets if one.title == sheet.name), None)
        if found is None:
            return sheet

        def rows(first: int) -> Iterator[Row]:
            written = found.iter_rows(min_row=first, values_only=True)
            for row, formulas in zip_longest(sheet.rows(first), written, fillvalue=()):
                yield [
                    _formula(formula) if value in ("", None) else value
                    for value, formula in zip_longest(row, formulas, fillvalue="")
                ]

        total = max(sheet.total, found.max_row or sum(1 for _ in found.iter_rows(values_only=True)))
        return Sheet(sheet.name, total, lambda first: islice(rows(first), max(total - first + 1, 0)))


def _formula(value: Any) -> str:
    """Return a formula, "" for anything else; an array's has its text inside."""
    text = getattr(value, "text", value)
    return text if isinstance(text, str) and text.startswith("=") else ""


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield the XML of the sheets in pieces that overlap, so that what is looked for is in one of them."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for entry in archive.infolist():
            if re.fullmatch(r"xl/worksheets/[^/]+\.xml", entry.filename):
                with archive.open(entry) as file:
                    end = b""
                    while piece := file.read(_PIECE):
                        yield end + piece
                        end = piece[-_OVERLAP:]
