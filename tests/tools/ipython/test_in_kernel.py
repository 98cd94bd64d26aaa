"""The functions known as AgentSkills, one by one; they run here as they do in a kernel."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from agentrt.tools.ipython import in_kernel
from agentrt.tools.ipython.in_kernel import (
    create_file,
    edit_file,
    find_file,
    goto_line,
    open_file,
    scroll_down,
    scroll_up,
    search_dir,
    search_file,
)

pytestmark = pytest.mark.simulated


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    importlib.reload(in_kernel)  # no file is open
    return tmp_path


def lines(place: Path, count: int, name: str = "long.txt") -> Path:
    path = place / name
    path.write_text("".join(f"line {n}\n" for n in range(1, count + 1)))
    return path


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def numbers(shown: list[str]) -> tuple[int, int]:
    found = [int(line.partition("|")[0]) for line in shown if "|" in line]
    return found[0], found[-1]


def test_open_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(place, 250)
    open_file("long.txt")
    shown = said(capsys)
    assert shown[:3] == [f"[File: {path} (250 lines total)]", "(this is the beginning of the file)", "1|line 1"]
    assert shown[-1] == "(150 more lines below)"
    assert numbers(shown) == (1, 100)
    open_file(str(path), 200)
    shown = said(capsys)
    assert numbers(shown) == (150, 249)
    assert shown[1] == "(149 more lines above)"
    open_file("long.txt", 250)
    assert said(capsys)[-1] == "(this is the end of the file)"
    with pytest.raises(ValueError, match="between 1 and 250"):
        open_file("long.txt", 251)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_file("nowhere.txt")


def test_goto_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no file is open"):
        goto_line(1)
    lines(place, 250)
    open_file("long.txt")
    said(capsys)
    goto_line(120)
    assert numbers(said(capsys)) == (70, 169)
    with pytest.raises(ValueError, match="between 1 and 250"):
        goto_line(0)


def test_scroll_down_and_up(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for scroll in (scroll_down, scroll_up):
        with pytest.raises(ValueError, match="no file is open"):
            scroll()
    lines(place, 350)
    open_file("long.txt")
    said(capsys)
    seen = []
    for scroll in (scroll_down, scroll_down, scroll_down, scroll_down, scroll_up, scroll_up, scroll_up, scroll_up):
        scroll()
        seen.append(numbers(said(capsys)))
    assert seen == [(101, 200), (201, 300), (251, 350), (251, 350), (151, 250), (51, 150), (1, 100), (1, 100)]


def test_create_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create_file("new/a.txt")
    path = place / "new" / "a.txt"
    assert said(capsys)[-1] == f"[File {path} created.]"
    assert path.read_text() == "\n"
    with pytest.raises(FileExistsError, match="exists already"):
        create_file("new/a.txt")


def test_edit_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no file is open"):
        edit_file(1, 1, "x")
    path = lines(place, 4)
    open_file("long.txt")
    edit_file(2, 3, "two\nthree\nand a half")
    assert path.read_text() == "line 1\ntwo\nthree\nand a half\nline 4\n"
    shown = said(capsys)
    assert "4|and a half" in shown
    assert shown[-1].startswith("[File updated (edited at line 2).")
    edit_file(2, 4, "")
    assert path.read_text() == "line 1\nline 4\n"
    for start, end in ((0, 1), (2, 1), (1, 3)):
        with pytest.raises(ValueError, match="must be lines of the file, from 1 to 2"):
            edit_file(start, end, "x")
    path.write_text("no end")
    edit_file(1, 1, "still none")
    assert path.read_text() == "still none"


def test_search_dir(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(place, 3)
    (place / "sub").mkdir()
    lines(place, 1, "sub/b.txt")
    lines(place, 1, ".hidden")
    search_dir("line 1")
    assert said(capsys) == [
        '[Found 2 matches for "line 1" in ./]',
        "./long.txt (Line 1): line 1",
        "./sub/b.txt (Line 1): line 1",
        '[End of matches for "line 1" in ./]',
    ]
    search_dir("nothing", "sub")
    assert said(capsys) == ['No matches found for "nothing" in sub']
    for n in range(101):
        lines(place, 1, f"many-{n}.txt")
    search_dir("line 1")
    assert said(capsys)[0].startswith("More than 100 files matched")
    with pytest.raises(NotADirectoryError):
        search_dir("x", "nowhere")


def test_search_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no file is open"):
        search_file("line")
    path = lines(place, 3)
    search_file("line 2", "long.txt")
    assert said(capsys) == [
        f'[Found 1 matches for "line 2" in {path}]',
        "Line 2: line 2",
        f'[End of matches for "line 2" in {path}]',
    ]
    open_file("long.txt")
    said(capsys)
    search_file("nothing")
    assert said(capsys) == [f'[No matches found for "nothing" in {path}]']
    with pytest.raises(FileNotFoundError):
        search_file("x", "nowhere")


def test_find_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(place, 1)
    (place / "sub").mkdir()
    lines(place, 1, "sub/long.py")
    find_file("long")
    assert said(capsys) == [
        '[Found 2 matches for "long" in ./]',
        "./long.txt",
        "./sub/long.py",
        '[End of matches for "long" in ./]',
    ]
    find_file("*.py", "sub")
    assert said(capsys)[1] == "sub/long.py"
    find_file("nothing")
    assert said(capsys) == ['[No matches found for "nothing" in ./]']
    with pytest.raises(NotADirectoryError):
        find_file("x", "nowhere")
