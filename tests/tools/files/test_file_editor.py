"""`file_editor` with real files: every command, every refusal, and what an edit leaves as it was."""

from __future__ import annotations

import base64
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.context.replies import BadCall
from agentrt.errors import ToolError
from agentrt.secrets import HIDDEN, SecretRegistry
from agentrt.specs import ImageContent, LocalWorkspace, Tool
from agentrt.specs.content import plain
from agentrt.tools.definition import Tools
from agentrt.tools.files.file_editor import FileEditor, FileEditorAction, file_editor
from agentrt.tools.files.opened import MAX_FILE, FileEditorObservation
from agentrt.tools.files.viewing import MAX_SHOWN

from ..context import FakeContext

pytestmark = pytest.mark.simulated

PIXEL = base64.b64decode("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==")


class Editor:
    """One `FileEditor`, called with keywords."""

    def __init__(self, folder: Path, **secrets: str) -> None:
        self._editor = FileEditor({})
        self._context = FakeContext(folder, registry=SecretRegistry(secrets))

    async def __call__(self, command: Any, path: Path | str, **arguments: Any) -> FileEditorObservation:
        done = await self._editor(FileEditorAction(command=command, path=str(path), **arguments), self._context)
        self._context.remember("file_editor", done)
        return done

    def reopen(self) -> None:
        """Go on as after a restart: with the log, and nothing in memory."""
        self._editor = FileEditor({})

    async def replace(self, path: Path, old: str, new: str) -> FileEditorObservation:
        return await self("str_replace", path, old_str=old, new_str=new)

    async def aclose(self) -> None:
        await self._editor.aclose()


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    return Editor(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def test_view_numbers_the_lines(editor: Editor, file: Path) -> None:
    seen = await editor("view", file)
    assert plain(seen.content) == "     1\tone\n     2\ttwo\n     3\tthree"
    assert (seen.path, seen.diff, seen.is_error) == (str(file), "", False)


async def test_view_a_range(editor: Editor, file: Path) -> None:
    assert plain((await editor("view", file, view_range=[2, -1])).content) == "     2\ttwo\n     3\tthree"
    with pytest.raises(ToolError, match=r"\[4, 5\] is not in the file: it has 3 lines"):
        await editor("view", file, view_range=[4, 5])


async def test_a_long_file_is_viewed_part_by_part(editor: Editor, tmp_path: Path) -> None:
    long = tmp_path / "long"
    long.write_text("".join(f"line {number}\n" for number in range(1, 5001)))
    text = plain((await editor("view", long)).content)
    assert len(text) <= MAX_SHOWN
    assert text.startswith("     1\tline 1\n")
    seen, parts = [line.split("\t")[1] for line in text.split("\n")[:-1]], 1
    while match := re.search(r"go on with view_range \[(\d+), 5000\]\]$", text):
        text = plain((await editor("view", long, view_range=[int(match[1]), 5000])).content)
        assert len(text) <= MAX_SHOWN
        seen += [line.split("\t")[1] for line in text.split("\n") if "\t" in line]
        parts += 1
    assert seen == [f"line {number}" for number in range(1, 5001)]
    assert parts < 8


async def test_a_line_that_is_too_long_is_cut_and_said_to_be(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 50_000 + "\nshort\n")
    text = plain((await editor("view", tmp_path / "long")).content)
    assert len(text) <= MAX_SHOWN
    assert text.startswith("     1\txxx")
    assert "go on with view_range [2, 2]" in text
    last = plain((await editor("view", tmp_path / "long", view_range=[1, 1])).content)
    assert last.endswith("[line 1 is too long to be shown whole: use the terminal, as with cut -c]")


async def test_an_empty_file_is_said_to_be_empty(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for view_range in (None, [1, -1], [1, 1], [5, 9]):
        shown = await editor("view", tmp_path / "empty", view_range=view_range)
        assert plain(shown.content) == f"[{tmp_path}/empty is empty]"


async def test_view_a_directory_two_levels_deep_without_hidden_entries(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "b" / "c" / "too_deep").mkdir(parents=True)
    (tmp_path / "b" / ".hidden").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").touch()
    (tmp_path / "a.txt").touch()
    (tmp_path / "b" / "d.txt").touch()
    (tmp_path / "z").symlink_to(tmp_path / "b")
    expected = ["", "a.txt", "b/", "b/c/", "b/d.txt", "z/"]
    *shown, note = plain((await editor("view", tmp_path)).content).split("\n")
    assert shown == [f"{tmp_path}/{name}" for name in expected]
    assert note == "[3 hidden entries are not listed: `ls -A` in the terminal shows all]"


async def test_a_directory_with_nothing_to_list_says_so(editor: Editor, tmp_path: Path) -> None:
    assert plain((await editor("view", tmp_path)).content) == f"{tmp_path}/\n[it is empty]"
    (tmp_path / ".env").touch()
    text = plain((await editor("view", tmp_path)).content)
    assert text.split("\n")[1] == "[nothing in it but what is hidden]"
    assert "1 hidden entry is not listed" in text


async def test_a_long_list_says_how_to_see_more(editor: Editor, tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number:0200}").touch()
    text = plain((await editor("view", tmp_path)).content)
    assert len(text) <= MAX_SHOWN
    assert text.endswith(f"[the list is cut: view a directory below {tmp_path}, or use the terminal]")


@pytest.mark.parametrize("suffix", ["png", "jpg", "jpeg", "gif", "webp", "bmp", "GIF"])
async def test_view_an_image(editor: Editor, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"dot.{suffix}").write_bytes(PIXEL)
    (block,) = (await editor("view", tmp_path / f"dot.{suffix}")).content
    assert isinstance(block, ImageContent)
    header, _, data = block.url.partition(",")
    assert header == f"data:image/{suffix.lower().replace('jpg', 'jpeg')};base64"
    assert base64.b64decode(data) == PIXEL


async def test_view_an_image_that_is_not_there_or_too_large(editor: Editor, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await editor("view", tmp_path / "none.png")
    with (tmp_path / "large.png").open("wb") as large:
        large.truncate(MAX_FILE + 1)
    with pytest.raises(ToolError, match="is larger than"):
        await editor("view", tmp_path / "large.png")


async def test_create_makes_a_file_and_its_directories(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "file.py"
    made = await editor("create", path, file_text="print('ü')\r\nx")
    assert path.read_bytes() == "print('ü')\r\nx".encode()
    assert names(path.parent) == ["file.py"]
    assert (made.prev_exist, made.old_content, made.new_content) == (False, None, "print('ü')\r\nx")
    assert made.diff.startswith("--- a/")
    assert plain(made.content) == f"Created {path}."


async def test_create_gives_the_mode_of_the_umask(editor: Editor, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        await editor("create", tmp_path / "file", file_text="")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


async def test_create_refuses_what_exists(editor: Editor, file: Path) -> None:
    for path in (file, file.parent):
        with pytest.raises(ToolError, match="exists already"):
            await editor("create", path, file_text="other")
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_replace_the_only_occurrence(editor: Editor, file: Path) -> None:
    edit = await editor.replace(file, "two\nth", "2\nTH")
    assert file.read_text() == "one\n2\nTHree\n"
    assert (edit.prev_exist, edit.old_content, edit.new_content) == (True, "one\ntwo\nthree\n", "one\n2\nTHree\n")
    assert edit.diff == f"--- a{file}\n+++ b{file}\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+THree\n"
    assert "     2\t2\n     3\tTHree" in plain(edit.content)


async def test_replace_by_nothing(editor: Editor, file: Path) -> None:
    await editor("str_replace", file, old_str="two\n")
    assert file.read_text() == "one\nthree\n"


async def test_insert(editor: Editor, file: Path) -> None:
    edit = await editor("insert", file, insert_line=1, new_str="one and a half")
    assert file.read_text() == "one\none and a half\ntwo\nthree\n"
    assert "     2\tone and a half" in plain(edit.content)
    await editor("insert", file, insert_line=0, new_str="zero\n")
    await editor("insert", file, insert_line=5, new_str="last")
    assert file.read_text() == "zero\none\none and a half\ntwo\nthree\nlast\n"


async def test_a_relative_path_is_one_from_the_workspace_on(editor: Editor, tmp_path: Path) -> None:
    made = await editor("create", "src/a.py", file_text="a\n")
    assert made.path == f"{tmp_path}/src/a.py"
    await editor("str_replace", "./src/../src/a.py", old_str="a", new_str="b")
    assert (tmp_path / "src/a.py").read_text() == "b\n"
    assert "1\tb" in plain((await editor("view", "src/a.py")).content)
    await editor("undo_edit", "src/a.py")
    assert (tmp_path / "src/a.py").read_text() == "a\n"


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("str_replace", {"old_str": "four", "new_str": "4"}, "does not occur"),
        ("str_replace", {"old_str": "o", "new_str": "0"}, "occurs 2 times in .*, at lines 1, 2"),
        ("str_replace", {"old_str": "two", "new_str": "two"}, "nothing to replace"),
        ("str_replace", {"old_str": "", "new_str": "x"}, "old_str is empty"),
        ("str_replace", {"new_str": "x"}, "needs old_str"),
        ("insert", {"insert_line": 4, "new_str": "x"}, "insert_line 4 is not in the file: it has 3 lines"),
        ("insert", {"new_str": "x"}, "needs insert_line"),
        ("insert", {"insert_line": 1}, "needs new_str"),
        ("view", {"view_range": [0, 1]}, r"view_range \[0, 1\] is not in the file"),
        ("view", {"view_range": [3, 2]}, r"view_range \[3, 2\] is not in the file"),
        ("view", {"view_range": [1]}, "two numbers"),
        ("undo_edit", {}, "no edit of .* to take back"),
    ],
)
async def test_what_does_not_fit_the_file_is_refused(
    editor: Editor, file: Path, command: str, arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        await editor(command, file, **arguments)
    assert file.read_text() == "one\ntwo\nthree\n"
    assert names(file.parent) == ["file.txt"]


async def test_create_needs_a_text(editor: Editor, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="needs file_text"):
        await editor("create", tmp_path / "new")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("command", "reason"), [("view", "binary"), ("str_replace", "binary"), ("insert", "binary")])
async def test_a_binary_file_is_refused(editor: Editor, tmp_path: Path, command: str, reason: str) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\x00\x01text")
    with pytest.raises(ToolError, match=f"{reason} file: use the terminal"):
        await editor(command, tmp_path / "program", old_str="text", new_str="x", insert_line=0)


async def test_a_file_that_is_too_large_is_refused(editor: Editor, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as large:
        large.truncate(MAX_FILE + 1)
    with pytest.raises(ToolError, match=f"is larger than {MAX_FILE} bytes"):
        await editor("view", tmp_path / "large")


@pytest.mark.parametrize("command", ["str_replace", "insert"])
async def test_editing_a_directory_or_what_is_not_there_is_refused(
    editor: Editor, tmp_path: Path, command: str
) -> None:
    with pytest.raises(ToolError, match="is a directory, not a file"):
        await editor(command, tmp_path, old_str="a", new_str="b", insert_line=0)
    with pytest.raises(ToolError, match="does not exist"):
        await editor(command, tmp_path / "none", old_str="a", new_str="b", insert_line=0)


async def test_what_is_no_regular_file_is_refused_at_once(editor: Editor, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe", tmp_path / "pipe.png", Path("/dev/zero")):
        with pytest.raises(ToolError, match="not a regular file"):
            await editor("view", path)


async def test_what_the_system_refuses_is_a_tool_error(editor: Editor, file: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="File exists|Not a directory"):
        await editor("create", file / "below", file_text="x")
    with pytest.raises(ToolError, match="characters that a path cannot have"):
        await editor("create", tmp_path / ("x" * 300), file_text="x")
    with pytest.raises(ToolError, match="NUL"):
        await editor("create", f"{tmp_path}/a\0b", file_text="x")
    assert names(tmp_path) == ["file.txt"]


async def test_undo_takes_back_edits_one_by_one(editor: Editor, file: Path) -> None:
    await editor.replace(file, "one", "1")
    await editor("insert", file, insert_line=0, new_str="top")
    undone = await editor("undo_edit", file)
    assert file.read_text() == "1\ntwo\nthree\n"
    assert (undone.old_content, undone.new_content) == ("top\n1\ntwo\nthree\n", "1\ntwo\nthree\n")
    assert "-top\n" in undone.diff
    await editor("undo_edit", file)
    assert file.read_text() == "one\ntwo\nthree\n"
    with pytest.raises(ToolError, match="no edit"):
        await editor("undo_edit", file)


async def test_undo_of_create_removes_the_file(editor: Editor, tmp_path: Path) -> None:
    await editor("create", tmp_path / "new", file_text="a\n")
    await editor.replace(tmp_path / "new", "a", "b")
    await editor("undo_edit", tmp_path / "new")
    assert (tmp_path / "new").read_text() == "a\n"
    undone = await editor("undo_edit", tmp_path / "new")
    assert names(tmp_path) == []
    assert (undone.old_content, undone.new_content) == ("a\n", "")


async def test_undo_reaches_back_as_far_as_the_log(editor: Editor, file: Path) -> None:
    file.write_text("0")
    for number in range(12):
        await editor.replace(file, str(number), str(number + 1))
    editor.reopen()
    for number in range(12):
        await editor("undo_edit", file)
        assert file.read_text() == str(11 - number)
    with pytest.raises(ToolError, match="no edit"):
        await editor("undo_edit", file)


async def test_what_was_undone_is_not_undone_again(editor: Editor, file: Path) -> None:
    await editor.replace(file, "one", "1")
    await editor.replace(file, "two", "2")
    await editor("undo_edit", file)
    await editor.replace(file, "three", "3")
    await editor("undo_edit", file)
    await editor("undo_edit", file)
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_what_has_changed_elsewhere_stays(editor: Editor, file: Path) -> None:
    file.write_text("".join(f"{number}\n" for number in range(20)))
    await editor.replace(file, "12", "twelve\nmore")
    file.write_text(f"new\n{file.read_text()}end\n")
    undone = await editor("undo_edit", file)
    assert file.read_text() == "".join(f"{line}\n" for line in ("new", *range(20), "end"))
    assert "What has changed elsewhere in it since then stays." in plain(undone.content)
    assert undone.diff.count("\n-") == 2


@pytest.mark.parametrize("text", ["one\nzwei\nthree\n", "", "1\ntwo\n3\n"])
async def test_an_edit_that_cannot_be_told_apart_any_more_is_not_taken_back(
    editor: Editor, file: Path, text: str
) -> None:
    await editor.replace(file, "one", "1")
    file.write_text(text)
    with pytest.raises(ToolError, match="has changed since that edit, at the same place"):
        await editor("undo_edit", file)
    assert file.read_text() == text


async def test_a_creation_is_not_taken_back_once_there_is_more(editor: Editor, tmp_path: Path) -> None:
    await editor("create", tmp_path / "new", file_text="a\n")
    (tmp_path / "new").write_text("b\n")
    with pytest.raises(ToolError, match="has changed since it was created"):
        await editor("undo_edit", tmp_path / "new")
    assert (tmp_path / "new").read_text() == "b\n"


async def test_undo_keeps_secrets_and_cannot_bring_one_back(tmp_path: Path) -> None:
    editor, path = Editor(tmp_path, TOKEN="hunter2-and-more"), tmp_path / "env"
    path.write_text("A=1\nTOKEN=hunter2-and-more\n")
    await editor.replace(path, "A=1", "A=2")
    await editor("undo_edit", path)
    assert path.read_text() == "A=1\nTOKEN=hunter2-and-more\n"
    await editor.replace(path, "TOKEN=", "KEY=")
    with pytest.raises(ToolError, match="replaced a secret, which no log keeps"):
        await editor("undo_edit", path)
    assert path.read_text() == "A=1\nKEY=hunter2-and-more\n"


async def test_every_file_has_its_own_undo(editor: Editor, file: Path, tmp_path: Path) -> None:
    await editor("create", tmp_path / "other", file_text="a")
    await editor.replace(file, "one", "1")
    await editor("undo_edit", tmp_path / "other")
    assert names(tmp_path) == ["file.txt"]
    assert file.read_text() == "1\ntwo\nthree\n"


async def test_undo_is_not_lost_when_the_file_is_gone_for_a_while(editor: Editor, file: Path) -> None:
    await editor.replace(file, "one", "1")
    file.rename(file.with_suffix(".away"))
    with pytest.raises(ToolError, match="does not exist"):
        await editor("undo_edit", file)
    file.with_suffix(".away").rename(file)
    await editor("undo_edit", file)
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_undo_survives_a_restart(editor: Editor, file: Path) -> None:
    await editor.replace(file, "one", "1")
    await editor.aclose()
    editor.reopen()
    await editor("undo_edit", file)
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("text", ["café\n", "naïve café\nsecond\n", "x = 'ñ'", "/* Überschrift */\n"])
async def test_a_latin_1_file_stays_one(editor: Editor, tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes(text.encode("latin-1"))
    assert text.strip().split("\n")[0] in plain((await editor("view", path)).content)
    await editor("insert", path, insert_line=0, new_str="Grüße")
    assert path.read_bytes() == ("Grüße\n" + text).encode("latin-1")
    await editor("undo_edit", path)
    assert path.read_bytes() == text.encode("latin-1")


async def test_a_character_that_the_file_s_encoding_lacks_is_refused(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("café\n".encode("latin-1"))
    with pytest.raises(ToolError, match="which has no '日': convert it to UTF-8 first"):
        await editor.replace(path, "café", "日本")
    assert path.read_bytes() == "café\n".encode("latin-1")
    assert names(tmp_path) == ["old.txt"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_file_with_a_mark_of_its_encoding_is_text_and_stays_as_it_is(
    editor: Editor, tmp_path: Path, encoding: str, newline: str
) -> None:
    path = tmp_path / "marked.txt"

    def stored(text: str) -> bytes:
        return ("\ufeff" + text.replace("\n", newline)).encode(encoding)

    path.write_bytes(stored("one\ntwo 日本 🙂\n"))
    assert plain((await editor("view", path)).content) == "     1\tone\n     2\ttwo 日本 🙂"
    await editor.replace(path, "two 日本", "zwölf 中")
    await editor("insert", path, insert_line=0, new_str="null")
    assert path.read_bytes() == stored("null\none\nzwölf 中 🙂\n")
    await editor("undo_edit", path)
    await editor("undo_edit", path)
    assert path.read_bytes() == stored("one\ntwo 日本 🙂\n")


@pytest.mark.parametrize("data", [b"\xff\xfea\0b", b"\xff\xfe\0\xd8", b"a\0b\0", b"\xff\xfe\0\0\1"])
async def test_half_a_character_of_two_bytes_is_no_text(editor: Editor, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(ToolError, match="use the terminal on it"):
        await editor("view", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == data


async def test_other_white_space_is_forgiven_and_said(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("def f():\n    if x:  \n        return 1\n\n    return 2\n")
    edited = await editor.replace(path, "if x:\n    return 1\n", "if x:\n    y()\n    return 3\n")
    assert path.read_text() == "def f():\n    if x:\n        y()\n        return 3\n\n    return 2\n"
    assert "old_str differs from the file in white space in its indentation" in plain(edited.content)
    exact = await editor.replace(path, "return 2", "return 4")
    assert "white space" not in plain(exact.content)


async def test_a_byte_order_mark_is_kept(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "marked.txt"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    await editor.replace(path, "two", "zwölf")
    assert path.read_bytes() == b"\xef\xbb\xbfone\n" + "zwölf\n".encode()


@pytest.mark.parametrize("old", ["two\nthree", "two\r\nthree"])
async def test_carriage_returns_are_kept_and_not_asked_for(editor: Editor, tmp_path: Path, old: str) -> None:
    path = tmp_path / "dos.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await editor.replace(path, old, old.upper())
    assert path.read_bytes() == b"one\r\nTWO\r\nTHREE\r\n"
    await editor("insert", path, insert_line=1, new_str="new\r\nlines\n")
    assert path.read_bytes() == b"one\r\nnew\r\nlines\r\nTWO\r\nTHREE\r\n"
    await editor("undo_edit", path)
    await editor("undo_edit", path)
    assert path.read_bytes() == b"one\r\ntwo\r\nthree\r\n"


async def test_mixed_line_ends_are_left_alone(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"one\r\ntwo\nthree\rfour\r\n")
    await editor.replace(path, "two", "2")
    assert path.read_bytes() == b"one\r\n2\nthree\rfour\r\n"


@settings(max_examples=60)
@given(
    before=st.binary(max_size=30),
    after=st.binary(max_size=30),
    encoding=st.sampled_from(["utf-8", "latin-1", "cp1251", "shift_jis", "gb18030"]),
    word=st.sampled_from(["café", "привет", "日本語", "plain"]),
)
async def test_an_edit_changes_nothing_but_its_place(before: bytes, after: bytes, encoding: str, word: str) -> None:
    """In whatever bytes a file has: the rest of them stays, or the edit is refused and all of them stay."""
    data = before + b"\nKEY = 1\n" + after + word.encode(encoding, errors="ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(data)
        try:
            await Editor(path.parent).replace(path, "KEY = 1", "KEY = 22")
        except ToolError:
            assert path.read_bytes() == data
        else:
            assert path.read_bytes() == data.replace(b"KEY = 1", b"KEY = 22")
        assert names(path.parent) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755, 0o444])
async def test_the_mode_is_kept(editor: Editor, file: Path, mode: int) -> None:
    file.chmod(mode)
    await editor.replace(file, "one", "1")
    assert file.stat().st_mode & 0o7777 == mode
    await editor("undo_edit", file)
    assert file.stat().st_mode & 0o7777 == mode


async def test_a_reader_of_the_old_file_keeps_it_whole(editor: Editor, file: Path) -> None:
    """The file is replaced, not written into."""
    with file.open() as reader:
        await editor.replace(file, "one", "1")
        assert reader.read() == "one\ntwo\nthree\n"
    assert names(file.parent) == ["file.txt"]


async def test_a_link_stays_a_link_also_across_file_systems(editor: Editor, tmp_path: Path) -> None:
    elsewhere = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=elsewhere) as folder:
        target = Path(folder, "target")
        target.write_text("one\n")
        (tmp_path / "link").symlink_to(target)
        await editor.replace(tmp_path / "link", "one", "1")
        assert (tmp_path / "link").is_symlink()
        assert target.read_text() == "1\n"
        assert names(target.parent) == ["target"]
    assert names(tmp_path) == ["link"]


async def test_a_failed_write_leaves_the_old_file_and_nothing_else(editor: Editor, file: Path) -> None:
    with pytest.raises(ToolError, match="has no"):
        await editor.replace(file, "one", "\ud800")
    assert file.read_text() == "one\ntwo\nthree\n"
    assert names(file.parent) == ["file.txt"]
    with pytest.raises(ToolError, match="no edit"):
        await editor("undo_edit", file)


def resources(path: str) -> tuple[str, ...]:
    tools = Tools([Tool("file_editor")], {"file_editor": file_editor}, LocalWorkspace("/work"))
    return tools.resources("file_editor", msgspec.Raw(msgspec.json.encode({"command": "view", "path": path})))


@pytest.mark.pure
def test_a_call_touches_its_file_by_whatever_path() -> None:
    assert resources("/work/a") == ("file:/work/a",)
    assert resources("/work/b/../a") == resources("/work/./a") == resources("a") == ("file:/work/a",)
    assert resources("/work/b") != resources("/work/a")


@pytest.mark.pure
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "delete", "path": "/f"},
        {"command": "view"},
        {"command": "insert", "path": "/f", "insert_line": -1},
        {"command": "view", "path": "/f", "view_range": ["a", "b"]},
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any]) -> None:
    tools = Tools([Tool("file_editor")], {"file_editor": file_editor}, LocalWorkspace("/work"))
    with pytest.raises(BadCall, match=r"do not fit: .* Their schema is \{"):
        tools.parse("file_editor", msgspec.Raw(msgspec.json.encode(arguments)))


async def test_half_a_secret_is_not_left_where_a_view_is_cut(tmp_path: Path) -> None:
    value = "abcdefghij" * 20
    (tmp_path / "keys").write_text("".join(f"{value}\n" for _ in range(200)))
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": value}))
    viewed = await FileEditor({})(FileEditorAction("view", str(tmp_path / "keys")), context)
    assert "abcd" not in plain(viewed.content)


async def test_a_secret_of_several_lines_is_seen_nowhere(tmp_path: Path) -> None:
    first, second = "user: ada l", "pw: s3 cret"
    editor, path = Editor(tmp_path, LOGIN=f"{first}\n{second}\n"), tmp_path / "login"
    path.write_text(f"top\n{first}\n{second}\nend\n")
    for found in (
        await editor("view", path),
        await editor("view", path, view_range=[3, 4]),
        await editor("insert", path, insert_line=0, new_str="new"),
        await editor.replace(path, "end", "End"),
        await editor("undo_edit", path),
    ):
        shown = msgspec.json.encode(found).decode()
        assert first not in shown
        assert second not in shown
    assert plain((await editor("view", path, view_range=[3, 5])).content).split("\n") == [
        *(f"     {line}\t{HIDDEN}" for line in (3, 4)),
        "     5\tend",
    ], "lines keep their numbers"
    assert path.read_text() == f"new\ntop\n{first}\n{second}\nend\n"
    await editor.aclose()


@pytest.mark.parametrize(
    ("data", "old", "new"),
    [
        (b"a\r\nb", "a\nb", "ab"),
        ("caf\xe9 is\n".encode("cp1252"), "caf\xe9", "cafe"),
        (b"a\r\nb\n", "b\n", ""),
    ],
)
async def test_undo_brings_back_every_byte(tmp_path: Path, data: bytes, old: str, new: str) -> None:
    editor, path = Editor(tmp_path), tmp_path / "f.txt"
    path.write_bytes(data)
    await editor("str_replace", path, old_str=old, new_str=new)
    await editor("undo_edit", path)
    assert path.read_bytes() == data
