"""Makes documents that are too large, too odd or too hostile to be kept as files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import IO, Any

FILES = Path(__file__).parent / "files"

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><lolz>&i;</lolz>"
)
"""Ten to the eighth times "lol" (CAPEC-197)."""


def packed(entries: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return target.getvalue()


def changed(data: bytes, change: Mapping[str, Callable[[bytes], bytes]]) -> bytes:
    """A zip file with some entries made others; those that it does not have begin empty."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name, made in change.items():
        old = entries.get(name, b"")
        assert isinstance(old, bytes)
        entries[name] = made(old)
    return packed(entries)


def bomb(size: int) -> bytes:
    """A zip file with one entry of so many bytes, all of them the same."""
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("big.xml", "w") as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return target.getvalue()


def pdf(pages: Iterable[str], ruled: bool = False) -> bytes:
    """A PDF (1.4) with lines of plain text on each page, and with `ruled` a table of two columns below them."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids: list[str] = []
    for text in pages:
        drawn = "BT /F1 10 Tf 50 800 Td 12 TL " + " ".join(f"({line}) Tj T*" for line in text.split("\n")) + " ET"
        if ruled:
            drawn += "".join(f" 50 {y} m 250 {y} l S" for y in (300, 320, 340, 360))
            drawn += "".join(f" {x} 300 m {x} 360 l S" for x in (50, 150, 250))
            for row, y in enumerate((345, 325, 305)):
                drawn += f" BT /F1 10 Tf 55 {y} Td (pond {row}) Tj 100 0 Td ({row * 7}) Tj ET"
        stream = drawn.encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    target, places = BytesIO(), list[int]()
    target.write(b"%PDF-1.4\n")
    for number, content in enumerate(objects, 1):
        places.append(target.tell())
        target.write(b"%d 0 obj\n%b\nendobj\n" % (number, content))
    start = target.tell()
    target.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    target.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    target.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return target.getvalue()


def workbook(rows: int, sheet: str = "Data") -> bytes:
    """An xlsx of so many rows of a number, a name, a fraction and two letters, which are in no shared table."""
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _relations("officeDocument", "xl/workbook.xml"))
        archive.writestr("xl/_rels/workbook.xml.rels", _relations("worksheet", "worksheets/sheet1.xml"))
        archive.writestr("xl/workbook.xml", _BOOK.format(sheet))
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as file:
            _write_rows(file, rows)
    return target.getvalue()


def _write_rows(file: IO[bytes], rows: int) -> None:
    file.write(f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
    for first in range(1, rows + 1, 10_000):
        file.write("".join(_row(number) for number in range(first, min(first + 10_000, rows + 1))).encode())
    file.write(b"</sheetData></worksheet>")


def _row(number: int) -> str:
    return (
        f'<row r="{number}"><c r="A{number}"><v>{number}</v></c>'
        f'<c r="B{number}" t="inlineStr"><is><t>name {number % 1000}</t></is></c>'
        f'<c r="C{number}"><v>{number * 1.5}</v></c>'
        f'<c r="D{number}" t="inlineStr"><is><t>x</t></is></c>'
        f'<c r="E{number}" t="inlineStr"><is><t>y</t></is></c></row>'
    )


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET}.worksheet+xml"/></Types>'
)
_BOOK = (
    f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="{}" sheetId="1" r:id="rId1"/></sheets></workbook>'
)


def _relations(kind: str, target: str) -> str:
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/></Relationships>'
    )


def book(chapters: Mapping[str, str]) -> bytes:
    """An EPUB of chapters: what its contents call each, and its body."""
    manifest = "".join(f'<item id="c{at}" href="c{at}.xhtml"/>' for at in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    links = "".join(f'<li><a href="c{at}.xhtml#top">{name}</a></li>' for at, name in enumerate(chapters))
    head = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><body>'
    pages = {f"O/c{at}.xhtml": f"{head}{body}</body></html>" for at, body in enumerate(chapters.values())}
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="O/b.opf"/></rootfiles></container>',
            "O/b.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            '<metadata><dc:title>A book</dc:title></metadata><manifest><item id="n" href="nav.xhtml"'
            f' properties="nav"/>{manifest}</manifest><spine>{spine}</spine></package>',
            "O/nav.xhtml": f"{head}<ol>{links}</ol></body></html>",
            **pages,
        }
    )


def mail(attached: Mapping[str, bytes]) -> bytes:
    """An e-mail with a text and attachments."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@birds.example>", "bob@birds.example", "Heröns"
    message.set_content("Seen at dawn.\n")
    for name, content in attached.items():
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def lasts(mp3: bytes) -> float:
    """The seconds of an MP3."""
    import av

    file: Any = av.open(BytesIO(mp3), format="mp3")
    with file:
        return float(file.duration) / 1_000_000
