"""The edits of `file_editor` on text: their laws, and every refusal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.files.edits import NAMED, SNIPPET, insert_after, numbered, replace_once, shown_lines, snippet

pytestmark = pytest.mark.pure

LINES = "".join(f"line {number}\n" for number in range(1, 21))
ODD = st.text("ab\n\r\f\x1c\u2028\x85", max_size=40)
"""Texts with characters that Python, but no other tool, takes for the end of a line."""


@given(st.text(max_size=50), st.text(min_size=1, max_size=10), st.text(max_size=50), st.text(max_size=10))
def test_replacing_is_exact_and_can_be_taken_back(before: str, old: str, after: str, new: str) -> None:
    text = before + old + after
    assume(text.find(old) == len(before) == text.rfind(old) and old != new)
    done = replace_once(text, old, new, "/f")
    replaced, line = done.text, done.line
    assert replaced == before + new + after
    assert line == before.count("\n") + 1
    if new and replaced.find(new) == len(before) == replaced.rfind(new):
        assert replace_once(replaced, new, old, "/f").text == text


@given(ODD, ODD, st.data())
def test_inserting_adds_whole_lines_at_their_place(text: str, new: str, data: st.DataObject) -> None:
    lines = text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n")
    place = data.draw(st.integers(min_value=0, max_value=len(lines)))
    inserted = insert_after(text, place, new)
    added = new.removesuffix("\n").split("\n")
    assert inserted.removesuffix("\n").split("\n") == lines[:place] + added + lines[place:]
    assert inserted.endswith("\n") is (text.endswith("\n") or place == len(lines))


def test_inserting_at_the_top_the_end_and_into_nothing() -> None:
    assert insert_after("b\n", 0, "a") == "a\nb\n"
    assert insert_after("a\n", 1, "b\n") == "a\nb\n"
    assert insert_after("a", 1, "b") == "a\nb\n"
    assert insert_after("", 0, "a") == "a\n"


def test_lines_are_what_other_tools_count() -> None:
    assert insert_after("a\fb\u2028c\nd\n", 1, "new") == "a\fb\u2028c\nnew\nd\n"
    assert numbered("a\fb\u2028c\nd\n", 2) == "     2\td"


@pytest.mark.parametrize("line", [-1, 21, 1000])
def test_inserting_outside_the_file_is_refused(line: int) -> None:
    with pytest.raises(ToolError, match=f"insert_line {line} is not in the file: it has 20 lines"):
        insert_after(LINES, line, "x")


def test_replacing_what_is_not_there_is_refused() -> None:
    with pytest.raises(ToolError, match=r"does not occur in /f: view the file"):
        replace_once("some text", "other", "x", "/f")


def test_replacing_what_is_there_more_than_once_names_the_lines() -> None:
    with pytest.raises(ToolError, match=r"occurs 3 times in /f, at lines 1, 3, 3"):
        replace_once("x\ny\nx x\n", "x", "z", "/f")


def test_overlapping_occurrences_are_many() -> None:
    with pytest.raises(ToolError, match="occurs 2 times"):
        replace_once("aaa", "aa", "b", "/f")


def test_of_many_occurrences_the_first_are_named() -> None:
    """Which takes no longer than to read the file, however many there are."""
    with pytest.raises(ToolError, match=rf"more than {NAMED} times in /f, at lines 1, 2, .* and below: add") as told:
        replace_once("a;\n" * 2_500_000, "a", "b", "/f")
    assert len(str(told.value)) < 300


def test_replacing_nothing_or_by_itself_is_refused() -> None:
    with pytest.raises(ToolError, match="old_str is empty"):
        replace_once("text", "", "x", "/f")
    with pytest.raises(ToolError, match="nothing to replace"):
        replace_once("text", "text", "text", "/f")


@pytest.mark.real
def test_numbers_as_cat_does(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(LINES)
    assert numbered(LINES) + "\n" == subprocess.run(["cat", "-n", file], capture_output=True, text=True).stdout


def view_lines(text: str, view_range: list[int] | None) -> str:
    return shown_lines(text, view_range, "/f", 100_000)


@given(st.integers(min_value=1, max_value=20), st.integers(min_value=0, max_value=25))
def test_a_range_shows_its_lines(first: int, more: int) -> None:
    shown = view_lines(LINES, [first, first + more]).removesuffix("\n[the file ends with line 20]").split("\n")
    assert shown == [f"{number:6}\tline {number}" for number in range(first, min(first + more, 20) + 1)]


def test_a_range_to_the_end_and_none_at_all() -> None:
    assert view_lines(LINES, [19, -1]) == "    19\tline 19\n    20\tline 20"
    assert view_lines(LINES, None) == numbered(LINES)
    assert view_lines("", [1, -1]) == "[/f is empty]"


@pytest.mark.parametrize("view_range", [[0, 3], [-1, 3], [21, 22], [5, 4], [5, -2], [3, 0]])
def test_a_range_outside_the_file_is_refused(view_range: list[int]) -> None:
    with pytest.raises(ToolError, match="is not in the file: it has 20 lines"):
        view_lines(LINES, view_range)


@pytest.mark.parametrize("view_range", [[], [1], [1, 2, 3]])
def test_a_range_is_two_numbers(view_range: list[int]) -> None:
    with pytest.raises(ToolError, match="two numbers"):
        view_lines(LINES, view_range)


def test_a_snippet_shows_the_change_and_four_lines_around() -> None:
    shown = snippet(LINES, 10, 2).split("\n")
    assert shown[0] == f"{10 - SNIPPET:6}\tline {10 - SNIPPET}"
    assert shown[-1] == f"{11 + SNIPPET:6}\tline {11 + SNIPPET}"
    assert snippet(LINES, 1, 1).startswith("     1\t")
