"""PDF: text by PDFium, and tables by pdfplumber on pages that have ruled lines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from typing import Any

from msgspec.structs import replace

from .document import DAMAGED, ENCRYPTED, Part, Picture, Unreadable, Wanted
from .markup import flat, table, tidy
from .picture import jpeg

TABLE_SECONDS = 8.0
"""Time limit in seconds for the search for tables, for all pages together. Later pages have plain text."""

_FEW_LINES = 4
"""Minimum number of ruled lines of a page that may have a table."""

_MOST_LINES = 3_000
"""Maximum number of ruled lines; a page with more is a drawing, where the search for tables would take too long."""

_LOOKED_AT = 4_000
"""Number of objects of a page among which ruled lines are counted."""

PIXELS = 1_600
"""Pixels of the longer side of a rendered page."""

MOST_SCALE = 4.0
"""Maximum scale of a small page, in pixels a point."""

HURRIED = "the later pages are given without a search for tables: ask for fewer pages"

NO_TEXT = "[it has no text: it may be a scan or a picture]"


class Pdf:
    """A `Source` of pages. Scripts and actions of the file do not run, and nothing that it refers to is opened."""

    kind, unit = "PDF", "page"

    def __init__(self, data: bytes) -> None:
        import pypdfium2

        self._data, self._raw = data, pypdfium2.raw
        try:
            self._pdf = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            locked = error.err_code in (pypdfium2.raw.FPDF_ERR_PASSWORD, pypdfium2.raw.FPDF_ERR_SECURITY)
            raise Unreadable(ENCRYPTED if locked else DAMAGED) from error
        self.names: Sequence[str] = ("",) * len(self._pdf)
        if not self.names:
            raise Unreadable(DAMAGED)
        self.title = flat(self._pdf.get_metadata_value("Title"))
        self._is_whole = b"%%EOF" in data[-4096:]
        self._hurried = False
        self._until = time.monotonic() + TABLE_SECONDS

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on a file that is cut off, and on pages without a search for tables."""
        cut = () if self._is_whole else ("the file is cut off: what was found in it is shown",)
        return (*cut, HURRIED) if self._hurried else cut

    def plain(self, index: int) -> str:
        """Return the text of a page without a search for tables."""
        import pypdfium2

        try:
            page = self._pdf[index]
            text = page.get_textpage()
        except pypdfium2.PdfiumError:
            return f"[page {index + 1} is damaged]"
        try:
            return tidy(text.get_text_bounded().replace("\r\n", "\n").replace("\x02", ""))
        finally:
            text.close()
            page.close()

    def text(self, index: int) -> str:
        """Return the text of a page, with its tables in their places."""
        if time.monotonic() >= self._until:
            self._hurried = True
        elif self._is_ruled(index) and (drawn := self._with_tables(index)):
            return drawn
        return self.plain(index) or NO_TEXT

    def perceived(self, parts: Sequence[Part], wanted: Wanted) -> Sequence[Part]:
        """Return the pages, of which the first `wanted.pictures` without text have a picture."""
        blank = [part.number for part in parts if part.text == NO_TEXT][: wanted.pictures]
        drawn = {number: self._drawn(number - 1) for number in blank}
        return [replace(part, pictures=drawn.get(part.number, ())) for part in parts]

    def _drawn(self, index: int) -> tuple[Picture, ...]:
        import pypdfium2

        try:
            page = self._pdf[index]
        except pypdfium2.PdfiumError:
            return ()
        try:
            bitmap = page.render(scale=min(PIXELS / max(*page.get_size(), 1), MOST_SCALE))
            return (Picture(f"page {index + 1}", jpeg(bitmap.to_pil())),)
        finally:
            page.close()

    def _is_ruled(self, index: int) -> bool:
        import pypdfium2

        try:
            page = self._pdf[index]
        except pypdfium2.PdfiumError:
            return False
        try:
            found: Any = islice(page.get_objects(max_depth=3), _LOOKED_AT)
            lines = sum(each.type == self._raw.FPDF_PAGEOBJ_PATH for each in found)
        finally:
            page.close()
        return bool(_FEW_LINES <= lines <= _MOST_LINES)

    def _with_tables(self, index: int) -> str:
        """Return the lines and tables of a page from top to bottom; "" if it has no table or cannot be read."""
        import pdfplumber

        try:
            with pdfplumber.open(BytesIO(self._data), pages=[index + 1]) as pdf:
                page = pdf.pages[0]
                found = [(each.bbox, each.extract()) for each in page.find_tables()]
                tables = [(box, rows) for box, rows in found if len(rows) > 1 and len(rows[0]) > 1]
                if not tables:
                    return ""
                boxes = [box for box, _ in tables]
                rest = page.filter(lambda each: not any(_within(each, box) for box in boxes))
                blocks = [(line["top"], line["text"]) for line in rest.extract_text_lines(return_chars=False)]
        except Exception:  # it may raise anything for an untrusted file; PDFium still has the text
            return ""
        blocks += [(box[1], f"\n{table(rows)}\n") for box, rows in tables]
        return tidy("\n".join(text for _, text in sorted(blocks, key=lambda block: block[0])))


def _within(thing: dict[str, Any], box: tuple[float, float, float, float]) -> bool:
    """Return whether the middle of an object on a page is in a box (x0, top, x1, bottom)."""
    across, down = (thing["x0"] + thing["x1"]) / 2, (thing["top"] + thing["bottom"]) / 2
    return bool(box[0] <= across <= box[2] and box[1] <= down <= box[3])
