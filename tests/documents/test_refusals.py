"""What is not read: encrypted and truncated files, bombs, and XML with entities."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from agentrt.documents.archive import Archive, check_prolog
from agentrt.documents.document import Unreadable

from .making import FILES, LAUGHS, bomb, changed, mail, packed
from .test_reading import found, told

pytestmark = pytest.mark.pure

LOCKED = sorted(path.name for path in FILES.glob("encrypted.*"))


def test_there_is_an_encrypted_file_of_each_kind() -> None:
    kinds = {Path(name).suffix for name in LOCKED}
    assert kinds == {".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".pdf", ".xls"}


@pytest.mark.simulated
@pytest.mark.parametrize("name", LOCKED)
def test_an_encrypted_file_is_told(name: str) -> None:
    with pytest.raises(Unreadable, match="^is encrypted: "):
        found(name)


@pytest.mark.simulated
def test_encrypted_entries_books_and_messages_are_told() -> None:
    data = bytearray(packed({"a.txt": "x"}))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    assert "entries are encrypted" in told(found(bytes(data), "a.zip"))
    with pytest.raises(Unreadable, match="has a.txt, which is encrypted"):
        found(bytes(data), "a.zip", pages="a.txt")
    with pytest.raises(Unreadable, match="is encrypted"):
        found(b"From: a@b.example\nContent-Type: application/pkcs7-mime\n\nMII", "a.eml")
    locked = b"<e><CipherReference URI='OEBPS/sections/section0001.xhtml'/></e>"
    with pytest.raises(Unreadable, match="is encrypted"):
        found(changed((FILES / "report.epub").read_bytes(), {"META-INF/encryption.xml": lambda old: locked}), "a.epub")


@pytest.mark.simulated
@pytest.mark.parametrize(
    "name",
    ["report.docx", "report.odt", "report.epub", "report.pdf", "counts.xlsx", "counts.xls", "counts.ods", "talk.pptx"]
    + ["talk.odp"],
)
def test_a_truncated_file_is_told(name: str) -> None:
    data = (FILES / name).read_bytes()
    for part in (len(data) // 2, 700):
        with pytest.raises(Unreadable, match=r"damaged|cut off"):
            found(data[:part], name)


@pytest.mark.simulated
def test_a_pdf_that_lost_its_end_shows_what_is_there() -> None:
    data = (FILES / "report.pdf").read_bytes()
    try:
        said = told(found(data[: data.rindex(b"startxref")], "a.pdf"))
    except Unreadable as error:
        said = str(error)
    assert "cut off" in said


def test_truncated_texts_are_told_where_that_shows() -> None:
    with pytest.raises(Unreadable, match="damaged or cut off"):
        found(b'{"cells": [{"cell_type": "mark', "a.ipynb")
    data = mail({"a.bin": bytes(5000)})
    assert "the message is cut off" in told(found(data[: len(data) // 2], "a.eml"))
    zipped = packed({"a.txt": "x" * 5000})
    with pytest.raises(Unreadable, match="damaged or cut off"):
        found(zipped[: len(zipped) // 2], "a.zip")


@pytest.mark.simulated
def test_office_97_is_told_what_to_do() -> None:
    with pytest.raises(Unreadable, match="is a file of Office 97: convert it"):
        found("report.doc")


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = bomb(64 << 20)
    assert len(data) < 100_000
    for name in ("a.zip", "a.docx", "a.xlsx", "a.odt", "a.epub"):
        with pytest.raises(Unreadable, match="unpacks to more than 250 times its size.*refused"):
            found(data, name)
    with pytest.raises(Unreadable, match="unpacks to more than 1 MiB: refused"):
        Archive(data, 1 << 20)


def test_an_entry_that_is_longer_than_it_says_is_damaged() -> None:
    data = bytearray(packed({"a.txt": "x" * 5000}))
    place = data.index(b"PK\1\2")
    data[22:26] = data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="damaged"):
        found(bytes(data), "a.zip", pages="a.txt")


EXTERNAL = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


@pytest.mark.simulated
@pytest.mark.parametrize("source", [LAUGHS, EXTERNAL, LAUGHS.replace("<!DOCTYPE", "<!-- x > --><!DOCTYPE")])
@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("report.docx", "word/document.xml"),
        ("counts.xlsx", "xl/workbook.xml"),
        ("talk.pptx", "ppt/presentation.xml"),
        ("report.odt", "content.xml"),
        ("counts.ods", "content.xml"),
        ("report.epub", "META-INF/container.xml"),
    ],
)
def test_xml_with_entities_is_refused(name: str, entry: str, source: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        made = functools.partial(_instead, source.encode(encoding))
        with pytest.raises(Unreadable, match="declares entities, as an attack does: refused"):
            found(changed((FILES / name).read_bytes(), {entry: made}), name)


def _instead(new: bytes, old: bytes) -> bytes:
    return new


def test_a_doctype_of_a_page_is_none_of_these() -> None:
    check_prolog(b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://x.example/d"><html/>')
    with pytest.raises(Unreadable, match="begins with no element"):
        check_prolog(b"<?xml version='1.0'?><!-- " + b"x" * (64 << 10))


def test_what_nests_too_deep_or_is_odd_is_refused_or_read() -> None:
    for source in (b"<div>" * 50_000, b"<table><tr><td>" * 2000, b"\\begin{a}" * 3000, b"{" * 5000):
        for name in ("a.html", "a.tex", "a.csv"):
            try:
                told(found(source, name))
            except (Unreadable, RecursionError):
                continue
