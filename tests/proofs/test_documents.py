"""Documents that are too large for the default tests, and how much they take."""

from __future__ import annotations

import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from random import Random

import anyio
import psutil
import pytest

from agentrt.documents.document import MOST, Document, Wanted
from agentrt.documents.rendering import shown
from agentrt.documents.running import MEMORY, SECONDS, read_document
from agentrt.errors import ToolError
from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.sandboxes.holding import whats_missing
from tests.documents.making import FILES, LAUGHS, bomb, changed, packed, pdf, workbook

pytestmark = [pytest.mark.long, pytest.mark.timed]


class Taken:
    """Bytes of memory at the most, and seconds, that reading took."""

    memory = 0
    seconds = 0.0


@asynccontextmanager
async def measured() -> AsyncIterator[Taken]:
    """Looks at the reader every 5 ms; none is left afterwards. What ran before is another test's."""
    whats_missing()  # what starts programs stays
    taken, began, before = Taken(), time.monotonic(), set(psutil.Process().children())

    async def look() -> None:
        while True:
            for each in set(psutil.Process().children(recursive=True)) - before:
                try:
                    taken.memory = max(taken.memory, each.memory_info().rss)
                except psutil.Error:
                    continue
            await anyio.sleep(0.005)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        yield taken
        tasks.cancel_scope.cancel()
    taken.seconds = time.monotonic() - began
    assert not set(psutil.Process().children()) - before


async def read(data: bytes, name: str, pages: str = "", query: str = "") -> Document:
    """What the tool asks for; how much that took is printed."""
    limit = MOST if pages or query else Wanted().limit
    async with measured() as taken:
        found = await read_document(THIS_MACHINE, data, name, Wanted(pages, query, limit))
    print(f"{name} {pages} {query}: {taken.seconds:.2f} s, {taken.memory >> 20} MiB")
    assert taken.memory < MEMORY
    assert taken.seconds < SECONDS
    return found


@pytest.mark.parametrize("ruled", [False, True])
async def test_a_pdf_of_500_pages(ruled: bool) -> None:
    words = "about herons and ponds and what they do in them"
    data = pdf(("\n".join(f"page {at} line {line} {words}" for line in range(35)) for at in range(1, 501)), ruled)
    first = await read(data, "a.pdf")
    assert (first.total, first.more[-4:]) == (500, "-500")
    assert [part.number for part in (await read(data, "a.pdf", "499-")).parts] == [499, 500]
    assert "stands in 1 page: 317" in (await read(data, "a.pdf", query="page 317 line 34")).notes[0]
    everything = await read(data, "a.pdf", "1-500")
    assert len(shown(everything, "a.pdf")) > 900_000


async def test_a_workbook_of_a_million_rows() -> None:
    data = workbook(1_000_000)
    first = await read(data, "a.xlsx")
    assert first.parts[0].text.startswith("[1,000,000 rows, rows 1 to ")
    (part,) = (await read(data, "a.xlsx", "Data!999999-")).parts
    assert part.text.splitlines()[-1] == "| 1000000 | 1000000 | name 0 | 1500000 | x | y |"
    assert (await read(data, "a.xlsx", query="name 777 1166665.5")).notes == ("'name 777 1166665.5' stands in 1 row",)
    (part,) = (await read(data, "a.xlsx", "Data!1-100000")).parts
    assert len(part.text) <= MOST + 1000


async def test_a_table_of_a_million_rows() -> None:
    data = b"".join(b"%d,name %d,x\n" % (number, number % 1000) for number in range(1, 1_000_001))
    assert (await read(data, "a.csv")).parts[0].text.startswith("[1,000,000 rows, rows 1 to ")
    (part,) = (await read(data, "a.csv", "999999-")).parts
    assert part.text.splitlines()[-1] == "| 1000000 | 1000000 | name 0 | x |"


async def refused(data: bytes, name: str) -> str:
    async with measured() as taken:
        with pytest.raises(ToolError) as failed:
            await read_document(THIS_MACHINE, data, name, Wanted())
    print(f"{name}: {taken.seconds:.2f} s, {taken.memory >> 20} MiB: {failed.value}")
    assert taken.memory < MEMORY
    assert taken.seconds < SECONDS + 2
    return str(failed.value)


async def test_bombs_are_refused() -> None:
    large = bomb(1 << 30)
    for name in ("a.zip", "a.docx", "a.xlsx", "a.epub"):
        assert "refused" in await refused(large, name)
    assert "declares entities" in await refused(
        changed((FILES / "report.docx").read_bytes(), {"word/document.xml": lambda old: LAUGHS.encode()}), "a.docx"
    )
    assert "entries" in await refused(packed({f"{number}.txt": "" for number in range(60_000)}), "a.zip")


async def test_a_sheet_with_two_far_corners_is_refused() -> None:
    """Its rectangle has 17 billion cells."""
    corners = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1">'
        b'<v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>'
    )
    data = changed(workbook(1), {"xl/worksheets/sheet1.xml": lambda old: corners})
    assert "memory" in await refused(data, "a.xlsx")


async def test_an_image_of_too_many_pixels_is_refused() -> None:
    from PIL import Image

    target = BytesIO()
    Image.new("1", (30_000, 30_000)).save(target, "PNG")
    assert "million pixels: refused" in await refused(target.getvalue(), "a.png")


KEPT = ["report.docx", "report.odt", "report.epub", "report.pdf", "counts.xlsx", "counts.xls", "counts.ods"]


@pytest.mark.parametrize("name", [*KEPT, "talk.pptx", "talk.odp"])
async def test_damaged_files_are_read_or_refused_in_one_sentence(name: str) -> None:
    """Bytes are changed, also inside of the entries of archives, and nothing hangs or is left."""
    before = set(psutil.Process().children())
    random, whole = Random(7), (FILES / name).read_bytes()
    for _ in range(12):
        data = _damaged(whole, random)
        said = await told(data, name)
        assert "\n" not in said
        assert "Traceback" not in said
    assert not set(psutil.Process().children()) - before


async def told(data: bytes, name: str) -> str:
    """Why it is not read; "" where it is."""
    try:
        await read_document(THIS_MACHINE, data, name, Wanted())
    except ToolError as error:
        return str(error)
    return ""


def _damaged(data: bytes, random: Random) -> bytes:
    if data.startswith(b"PK") and random.random() < 0.7:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            name = random.choice([entry.filename for entry in archive.infolist() if entry.file_size])
        return changed(data, {name: lambda old: _spoiled(old, random)})
    return _spoiled(data, random)


def _spoiled(data: bytes, random: Random) -> bytes:
    spoiled = bytearray(data)
    for _ in range(random.randint(1, 20)):
        spoiled[random.randrange(len(spoiled))] = random.randrange(256)
    return bytes(spoiled[: random.randint(len(spoiled) // 2, len(spoiled))])
