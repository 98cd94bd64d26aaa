"""Word documents, read by mammoth, and presentations, read by python-pptx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from io import BytesIO
from typing import Any

from .document import Unreadable
from .markup import flat, html, markdown_of, table, tidy
from .selecting import Texts, sections

_BACK = "↑"
"""The text of the link that mammoth puts after a footnote, to lead back."""


def word(data: bytes) -> Texts:
    """Return the text of a docx, split at its headings. Pictures are named; nothing that it links to is opened."""
    mammoth = import_module("mammoth")  # which has no types

    def image(found: Any) -> list[Any]:
        return [mammoth.html.text(f"[image: {flat(found.alt_text)}]" if found.alt_text else "[image]")]

    said = mammoth.convert_to_html(BytesIO(data), convert_image=image, external_file_access=False).value
    return Texts("Word document", "section", sections(markdown_of(html(said.replace(_BACK, "")))))


def presentation(data: bytes) -> Texts:
    """Return the slides of a pptx: texts, tables, the data of charts, and speaker notes. Raises `Unreadable`."""
    import pptx

    found = pptx.Presentation(BytesIO(data))
    slides = tuple(_slide(slide) for slide in found.slides)
    if not slides:
        raise Unreadable("has no slides")
    return Texts("presentation", "slide", slides, flat(found.core_properties.title or ""))


def _slide(slide: Any) -> tuple[str, str]:
    title = slide.shapes.title
    name = flat(title.text_frame.text) if title is not None and title.has_text_frame else ""
    shown = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    blocks = [block for shape in shown for block in _shape(shape)]
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
        blocks.append(f"Notes: {frame.text.strip()}")
    return name, tidy("\n\n".join(blocks))


def _shape(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _shape(inner)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield "\n".join(_lines(shape.text_frame.paragraphs))
    elif getattr(shape, "has_table", False):
        yield table([[each.text for each in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield _chart(shape.chart)
    elif hasattr(shape, "image"):
        yield f"[image: {flat(shape.name)}]"


def _lines(paragraphs: Iterable[Any]) -> Iterator[str]:
    for each in paragraphs:
        text = flat(each.text)
        if text:
            yield f"{'  ' * (each.level - 1)}- {text}" if each.level else text


def _chart(chart: Any) -> str:
    title = flat(chart.chart_title.text_frame.text) if chart.has_title and chart.chart_title.has_text_frame else ""
    rows: list[list[object]] = []
    for plot in chart.plots:
        series = list(plot.series)
        rows.append(["", *(each.name for each in series)])
        values = [list(each.values) for each in series]
        for at, category in enumerate(plot.categories):
            rows.append([category, *(each[at] if at < len(each) else "" for each in values)])
    return f"Chart: {title}\n\n{table(rows)}".strip()
