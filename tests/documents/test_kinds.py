"""Which kind of document a file is."""

from __future__ import annotations

import pytest

from agentrt.documents.kinds import image_type, is_document, kind_of

from .making import FILES

pytestmark = pytest.mark.pure


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("report.docx", "docx"), ("report.odt", "odt"), ("report.epub", "epub"), ("report.pdf", "pdf"),
        ("report.doc", "office"), ("counts.xlsx", "workbook"), ("counts.xls", "workbook"), ("counts.ods", "workbook"),
        ("talk.pptx", "pptx"), ("talk.odp", "odp"), ("encrypted.docx", "office"),
    ],
)  # fmt: skip
def test_the_bytes_tell_without_a_name(name: str, kind: str) -> None:
    data = (FILES / name).read_bytes()
    assert kind_of("", data) == kind_of(name, data) == kind
    assert is_document("", data)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a/B.PDF", "pdf"), ("a.htm", "html"), ("a.tsv", "csv"), ("a.tex", "latex"), ("a.py", "text"), ("pdf", "text")],
)
def test_else_the_name_does(name: str, kind: str) -> None:
    assert kind_of(name, b"x") == kind
    assert kind_of("x", b"x", "application/pdf") == "pdf"


def test_texts_that_speak_of_pdf_are_none() -> None:
    assert kind_of("a.html", b"<p>%PDF-1.4") == "html"
    assert not is_document("a.csv")
    assert image_type(b"RIFF....WEBP") == "image/webp"
    assert image_type(b"x") is None
