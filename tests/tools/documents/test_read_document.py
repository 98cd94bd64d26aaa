"""`read_document`, and the documents that other tools show."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentrt.errors import ToolError
from agentrt.loading import missing
from agentrt.secrets import HIDDEN, SecretRegistry
from agentrt.specs import ImageContent, LocalWorkspace, OnCrash
from agentrt.specs.content import plain
from agentrt.specs.effects import Effects
from agentrt.tools.documents import read_document
from agentrt.tools.documents.read_document import MAX_SHOWN, ReadDocumentAction, ReadDocumentObservation
from agentrt.tools.files import file_editor, read_file
from agentrt.tools.files.file_editor import FileEditorAction
from agentrt.tools.files.read_file import ReadFileAction
from tests.documents.making import FILES, pdf

from ..context import FakeContext

pytestmark = pytest.mark.real


def page(number: int) -> str:
    """Some 6,000 characters."""
    words = "herons stand in shallow water until a fish comes by that is small enough to be eaten"
    return "\n".join(f"page {number} line {line}: {words}" for line in range(60))


async def seen(context: FakeContext, path: str, pages: str = "", query: str = "") -> ReadDocumentObservation:
    """One call."""
    found = await read_document.executor({})(ReadDocumentAction(path, pages, query), context)
    assert isinstance(found, ReadDocumentObservation)
    return found


async def test_a_document_by_its_beginning_pages_and_words(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf(page(at) for at in range(1, 31)))
    context = FakeContext(tmp_path)
    first = await seen(context, "a.pdf")
    said = plain(first.content)
    assert said.startswith(f"[{tmp_path}/a.pdf: PDF, 30 pages]\n\n## Page 1\n\npage 1 line 0: herons")
    assert said.endswith(f"[there is more: go on with pages='{first.more}']")
    assert (first.kind, first.unit, first.total, first.parts) == ("PDF", "page", 30, (1, 2, 3, 4))
    assert len(said) < MAX_SHOWN
    assert plain((await seen(context, str(tmp_path / "a.pdf"), "29,7")).content).count("line 59:") == 2
    found = await seen(context, "a.pdf", query="page 17  line 3")
    assert found.parts == (17,)
    assert context.kept == {}


async def test_what_is_too_long_is_clipped_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(20_000)))
    context = FakeContext(tmp_path)
    found = await seen(context, "a.txt", "1-")
    assert "characters left out" in plain(found.content)
    assert "is in /spilled/0" in plain(found.content)
    assert context.spilled is not None
    assert "line 19999" in context.spilled["/spilled/0"]
    assert len(context.kept) == 1


async def test_secrets_are_masked(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef"
    (tmp_path / "a.csv").write_text(f"key,{secret}\n")
    said = plain((await seen(FakeContext(tmp_path, registry=SecretRegistry({"KEY": secret})), "a.csv")).content)
    assert secret not in said
    assert HIDDEN in said


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("none.pdf", "none.pdf does not exist"),
        ("", "the path is empty"),
        (".", "is a directory"),
        ("bad.docx", r"bad\.docx is damaged or cut off"),
        ("elf", r"elf cannot be read: supported are PDF"),
    ],
)
async def test_what_cannot_be_read_is_told(tmp_path: Path, path: str, says: str) -> None:
    (tmp_path / "bad.docx").write_bytes((FILES / "report.docx").read_bytes()[:2000])
    (tmp_path / "elf").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ToolError, match=says):
        await seen(FakeContext(tmp_path), path)


async def test_an_image_is_seen_and_its_text_is_read(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (400, 100), "white")
    ImageDraw.Draw(image).text((20, 20), "Herons 42", fill="black", font_size=48)
    image.save(tmp_path / "a.png")
    found = await seen(FakeContext(tmp_path), "a.png")
    assert "PNG image, 400 × 100 pixels" in plain(found.content)
    assert any(isinstance(block, ImageContent) for block in found.content)
    assert ("Herons 42" in plain(found.content)) is (shutil.which("tesseract") is not None)
    target = BytesIO()
    image.save(target, "TIFF")
    (tmp_path / "a.tif").write_bytes(target.getvalue())
    found = await seen(FakeContext(tmp_path), "a.tif")
    (shown,) = (block for block in found.content if isinstance(block, ImageContent))
    assert shown.url.startswith("data:image/jpeg;base64,")


async def test_a_view_shows_the_beginning(tmp_path: Path) -> None:
    path, context = tmp_path / "a.docx", FakeContext(tmp_path)
    path.write_bytes((FILES / "report.docx").read_bytes())
    viewed = await file_editor.executor({})(FileEditorAction("view", str(path)), context)
    read = await read_file.executor({})(ReadFileAction("a.docx"), context)
    assert "| North | 12 |" in plain(viewed.content)
    assert viewed.content == read.content
    (tmp_path / "a.pdf").write_bytes(pdf(page(at) for at in range(1, 9)))
    said = plain((await read_file.executor({})(ReadFileAction("a.pdf"), context)).content)
    assert said.endswith(
        "[there is more: go on with pages='3-8']\n[this is its beginning: the tool read_document reads the rest]"
    )
    for command, arguments in (("str_replace", {"old_str": "a", "new_str": "b"}), ("create", {"file_text": "x"})):
        with pytest.raises(ToolError):
            await file_editor.executor({})(FileEditorAction(command, str(path), **arguments), context)  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="does not exist"):
        await read_file.executor({})(ReadFileAction("none.pdf"), context)


@pytest.mark.pure
def test_what_it_declares() -> None:
    here, action = LocalWorkspace("/w"), ReadDocumentAction("a.pdf")
    assert read_document.effects is not None
    assert read_document.effects(action, here) == Effects(reads=("a.pdf",))
    assert read_document.resources(action, here) == read_file.resources(ReadFileAction("a.pdf"), here)
    assert read_document.on_crash is OnCrash.RETRY
    assert read_document.annotations.read_only
    assert read_document.labels == ()


@pytest.mark.pure
def test_a_missing_library_is_named_with_its_extra() -> None:
    said: Any = missing("pypdfium2", "documents", "No module named 'pypdfium2'")
    assert "needs pypdfium2" in str(said)
    assert "pip install 'agentrt[documents]'" in str(said)
