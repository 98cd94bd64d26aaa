"""Every kind of document, by the readers themselves."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.worksheet.formula import ArrayFormula

from agentrt.documents.document import Document, Unreadable, Wanted
from agentrt.documents.reading import read
from agentrt.documents.rendering import shown

from .making import FILES, book, changed, mail, packed, pdf

pytestmark = pytest.mark.simulated

TABLE = "| Pond | Herons |\n| --- | --- |\n| North | 12 |\n| South | 7 |"


def found(data: bytes | Path | str, name: str = "", pages: str = "", query: str = "", limit: int = 28_000) -> Document:
    """What is read of bytes, or of a file among the kept ones."""
    if not isinstance(data, bytes):
        name, data = name or str(data), (FILES / data).read_bytes()
    return read(data, name, Wanted(pages, query, limit))


def told(document: Document) -> str:
    return shown(document, "it")


@pytest.mark.parametrize("name", ["report.docx", "report.odt", "report.epub", "report.pdf", "locked.pdf"])
def test_a_report_of_an_office(name: str) -> None:
    said = told(found(name))
    assert "Herons stand in shallow water, says" in said
    assert "Smörgås costs 5 €." in said
    assert TABLE in said
    assert "They are counted at dawn." in said
    assert "Once a year." in said
    if name != "report.pdf" and name != "locked.pdf":
        assert "[the guide](https://birds.example/heron)" in said
    if name != "report.docx":
        assert said.startswith("# Report on herons\n[it: ")


@pytest.mark.parametrize(
    ("name", "kind", "unit", "total"),
    [
        ("report.docx", "Word document", "section", 2),
        ("report.odt", "OpenDocument text", "section", 3),
        ("report.epub", "EPUB", "chapter", 1),
        ("report.pdf", "PDF", "page", 2),
        ("paper.pdf", "PDF", "page", 2),
        ("talk.pptx", "presentation", "slide", 2),
        ("talk.odp", "OpenDocument presentation", "slide", 2),
        ("counts.xlsx", "workbook", "sheet", 2),
        ("counts.xls", "workbook", "sheet", 2),
        ("counts.ods", "workbook", "sheet", 2),
        ("sources/paper.tex", "LaTeX", "section", 2),
    ],
)
def test_what_it_is_and_how_many_parts_it_has(name: str, kind: str, unit: str, total: int) -> None:
    document = found(name)
    assert (document.kind, document.unit, document.total, document.more) == (kind, unit, total, "")
    assert [part.number for part in document.parts] == list(range(1, total + 1))
    assert [part.number for part in found(name, pages=str(total)).parts] == [total]
    with pytest.raises(Unreadable, match="has no|there is no"):
        found(name, pages="99")


@pytest.mark.parametrize("name", ["counts.xlsx", "counts.xls", "counts.ods"])
def test_sheets_have_rows_and_columns(name: str) -> None:
    first, second = found(name).parts
    assert first.name == "Ponds"
    assert first.text == (
        "[4 rows]\n| row | A | B | C |\n| --- | --- | --- | --- |\n| 1 | Pond | Herons | Counted |\n"
        "| 2 | North \\| East | 12 | 2024-05-01 |\n| 3 | South | 7.5 |  |\n| 4 | All | 19.5 |  |"
    )
    assert (second.name, second.text.splitlines()[-1]) == ("Notes, old", "| 1 |  | seen at dawn |")
    assert found(name, pages="notes, OLD").parts == (second,)
    assert found(name, pages="2").parts == (second,)
    assert found(name, pages="Ponds!3-").parts[0].text.splitlines()[-1] == "| 4 | All | 19.5 |"
    (hit,) = found(name, query="south").parts
    assert hit.text.splitlines()[-2:] == ["| 1 | Pond | Herons | Counted |", "| 3 | South | 7.5 |  |"]


@pytest.mark.parametrize("name", ["talk.pptx", "talk.odp"])
def test_slides_have_tables(name: str) -> None:
    assert "grey herons" in found(name, pages="1").parts[0].text
    assert "| Pond | Herons |\n| --- | --- |\n| North | 12 |" in found(name, pages="2").parts[0].text


def test_slides_have_titles_notes_charts_and_groups() -> None:
    import pptx
    import pptx.chart.data
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Herons"
    slide.placeholders[1].text = "one\ntwo"
    slide.placeholders[1].text_frame.paragraphs[1].level = 1
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    figures: Any = vars(pptx.chart.data)["CategoryChartData"]()  # which has no types
    figures.categories = ["North", "South"]
    figures.add_series("2024", (12, 7))
    place = (Inches(1), Inches(1), Inches(3), Inches(3))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, figures)
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*place).text_frame.text = "in a group"
    target = BytesIO()
    made.save(target)
    (part,) = found(target.getvalue(), "a.pptx").parts
    assert part.name == "Herons"
    assert "one\n- two" in part.text
    assert "|  | 2024 |\n| --- | --- |\n| North | 12.0 |" in part.text
    assert part.text.endswith("in a group\n\nNotes: Speak slowly.")


@pytest.mark.pure
def test_chapters_have_the_names_of_the_contents() -> None:
    data = book(
        {"Dawn": "<h1>I</h1><p>grey</p>", "Noon": "<p>purple <img src='x.png' alt='y'/></p>", "Dusk": "<p>z</p>"}
    )
    document = found(data, "x.epub")
    assert (document.title, [part.name for part in document.parts]) == ("A book", ["Dawn", "Noon", "Dusk"])
    assert found(data, pages="noon").parts[0].text == "purple [image: y]"
    assert found(data, query="purple").notes == ("'purple' stands in 1 chapter: 2",)


@pytest.mark.pure
def test_a_page_of_html_and_its_sections() -> None:
    source = (
        "<title>All</title><script>evil()</script><p>before</p><h1>One</h1><p>a <b>bold</b> <a href='/x'>x</a>"
        "<a href='#y'>here</a></p><h2>Two</h2><table><tr><th>Pond<th>Herons<tr><td>North<td>12<tr><td>South<td>7"
    )
    document = found(source.encode(), "a.html")
    assert (document.title, [part.name for part in document.parts]) == ("All", ["", "One", "Two"])
    assert "a **bold** [x](/x)here" in document.parts[1].text
    assert TABLE in document.parts[2].text
    assert "evil" not in told(document)
    latin = "<meta charset=iso-8859-1><p>Smörgås</p>".encode("latin-1")
    assert "Smörgås" in told(found(latin, "b.htm"))


@pytest.mark.pure
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_separated_values_by_any_mark(mark: str) -> None:
    rows = [["Pond", "Heröns"], ["North", '"1\n2"'], *([f"p{number}", str(number)] for number in range(3, 300))]
    data = "\r\n".join(mark.join(row) for row in rows).encode("cp1252")
    document = found(data, "a.csv", pages="1-3")
    assert document.parts[0].text.splitlines()[-3:] == [
        "| 1 | Pond | Heröns |",
        "| 2 | North | 1 2 |",
        "| 3 | p3 | 3 |",
    ]
    assert "[299 rows, rows 298 to 299]" in told(found(data, "a.csv", pages="298-"))
    assert found(data, "a.csv", query="p29 29").notes == ("'p29 29' stands in 11 rows",)
    assert found(data, "a.csv", limit=1000).more == "48-"


@pytest.mark.pure
def test_a_notebook_has_cells_with_their_outputs() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Herons\n", "text"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE: v\x1b[0m"]},
                {"output_type": "execute_result", "data": {"text/html": "<table><tr><th>a<tr><td>1</table>"}},
            ],
        },
    ]
    first, second = found(json.dumps({"cells": cells, "nbformat": 4}).encode(), "a.ipynb").parts
    assert first.text == "# Herons\ntext"
    assert second.text.startswith("```python\nprint(1)\n```\n\nOutput:\n```\n1\n```\n\nOutput:\n```\n<Figure>\n```")
    assert "[image: image/png]" in second.text
    assert "Output:\n```\nE: v\n```" in second.text
    assert second.text.endswith("| a |\n| --- |\n| 1 |")


def test_latex_has_headings_tables_and_formulas() -> None:
    said = told(found("sources/paper.tex"))
    assert said.startswith("# On herons\n")
    assert "## Herons\n\nHerons stand in shallow water: $a^2 + b^2 = c^2$." in said
    assert "### Counts" in said
    assert TABLE in said
    assert "a comment" not in said


def test_an_e_mail_and_what_is_attached() -> None:
    data = mail({"report.docx": (FILES / "report.docx").read_bytes(), "a.csv": b"x,y\n1,2\n"})
    said = told(found(data, "a.eml"))
    assert said.startswith("# Heröns\n[it: e-mail]\n\nFrom: Ada <ada@birds.example>\nTo: bob@birds.example\n")
    assert "Seen at dawn." in said
    assert "| a.csv | 8 |" in said
    assert "| 2 | 1 | 2 |" in told(found(data, "a.eml", pages="a.csv"))
    assert found(data, "a.eml", pages="report.docx!2").parts[0].name == "Counts"


def test_an_archive_and_its_entries() -> None:
    inner = packed({"deep!.txt": "hello"})
    data = packed({"a/report.pdf": (FILES / "report.pdf").read_bytes(), "in.zip": inner, "x.txt": "plain text"})
    said = told(found(data, "a.zip"))
    assert "| a/report.pdf |" in said
    assert "an entry is read with pages='a/report.pdf'" in said
    assert found(data, "a.zip", pages="a/report.pdf!2").parts[0].number == 2
    assert "plain text" in told(found(data, "a.zip", pages="x.txt"))
    assert "hello" in told(found(data, "a.zip", pages="in.zip!deep!.txt"))
    assert "[it: text, 1 section]" in told(found(data, "a.zip", pages="x.txt", query="plain"))
    with pytest.raises(Unreadable, match=r"has no entry 'y.txt': its beginning lists them"):
        found(data, "a.zip", pages="y.txt")
    deep = packed({"x.zip": data})
    for _ in range(4):
        deep = packed({"x.zip": deep})
    with pytest.raises(Unreadable, match="more than 3 deep"):
        found(deep, "a.zip", pages="x.zip!x.zip!x.zip!x.zip!x.zip")


@pytest.mark.pure
def test_an_image_is_told_with_its_size() -> None:
    from PIL import Image

    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF"):
        target = BytesIO()
        Image.effect_noise((30, 20), 50).convert("RGB").save(target, kind)
        data = target.getvalue()
        assert found(data, f"a.{kind.lower()}").parts[0].text == f"{kind} image, 30 × 20 pixels"
        with pytest.raises(Unreadable, match="damaged or cut off"):
            found(data[: len(data) // 2], f"a.{kind.lower()}")


@pytest.mark.pure
def test_a_page_without_text_says_so_and_tables_stand_in_place() -> None:
    document = found(pdf(["", "a\nb"], ruled=False))
    assert document.parts[0].text == "[it has no text: it may be a scan or a picture]"
    (ruled,) = found(pdf(["above"], ruled=True)).parts
    assert ruled.text == "above\n\n| pond 0 | 0 |\n| --- | --- |\n| pond 1 | 7 |\n| pond 2 | 14 |"


@pytest.mark.pure
def test_texts_and_what_is_none() -> None:
    assert [part.name for part in found(b"a\n# One\nb\n## Two\nc", "a.md").parts] == ["", "One", "Two"]
    with pytest.raises(Unreadable, match="cannot be read: supported are"):
        found(b"\x7fELF\0\0\0", "a.out")
    with pytest.raises(Unreadable, match="is empty"):
        found(b"", "a.pdf")


@pytest.fixture
def calculating() -> bytes:
    """An xlsx whose formulas have no values; one of them is shared, one is an array's."""
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.title = "Costs"
    for row in (["Item", "Each", "All"], ["nails", 2, "=B2*10"], ["=A2", None, None], [None, 5]):
        sheet.append(row)
    sheet["C7"] = ArrayFormula("C7:C8", "=B2:B3*2")
    made.create_sheet("Sum")["B3"] = "=Costs!C2"
    made.create_sheet("Plain")["A1"] = "=1 is text"
    made["Plain"]["A1"].data_type = "s"
    file = BytesIO()
    made.save(file)
    return file.getvalue()


def test_formulas_without_values_are_shown_as_formulas(calculating: bytes) -> None:
    said = told(found(calculating, "a.xlsx"))
    assert "nails | 2 | =B2*10" in said
    assert "=A2" in said
    assert "=B2:B3*2" in said
    assert "=Costs!C2" in said
    assert "=1 is text" in said
    part = found(calculating, "a.xlsx", pages="Costs!2-2").parts[0]
    assert "=B2*10" in part.text
    assert "=A2" not in part.text
    assert "=Costs!C2" in told(found(calculating, "a.xlsx", query="Costs!"))


def test_a_part_that_only_the_reader_of_formulas_minds_costs_the_formulas_alone(calculating: bytes) -> None:
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    styles = b"<styleSheet xmlns='" + space + b"'><cellXfs><xf numFmtId='x'/></cellXfs></styleSheet>"
    said = told(found(changed(calculating, {"xl/styles.xml": lambda data: styles}), "a.xlsx"))
    assert "| nails | 2 |" in said
    assert "=B2*10" not in said
