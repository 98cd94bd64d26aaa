"""What a model copied with other white space is found where it is meant, or not at all."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.files.alike import alike
from agentrt.tools.files.edits import replace_once
from tests.timing import within

pytestmark = pytest.mark.pure

CODE = """class A:
    def f(self):
        a = 1\x20\x20
        if a:
\t
            b = 2

    def g(self):
\treturn 3
"""


def edited(text: str, old: str, new: str) -> str | None:
    """The text after the edit, if there is one."""
    found = alike(text, old, new)
    return None if found is None else text[: found.start] + found.new + text[found.end :]


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("        a = 1\n        if a:\n", "        a = 2\n        if not a:\n",
         "        a = 1  \n        if a:\n", "        a = 2\n        if not a:\n"),
        ("\n    def g(self):\n\n", "\n    def h(self):\n\n", "def g", "def h"),
        ("   return 3 ", "   return 4 ", "return 3", "return 4"),
        ("return 3\n\n", "return 4\n\n", "return 3", "return 4"),
        ("\n\nreturn 3", "return 4", "return 3", "return 4"),
        ("a = 1\nif a:\n\n    b = 2", "a = 1\nif a:\n\n    b = 2\n    c = 3\nd = 4",
         "        a = 1  \n        if a:\n\t\n            b = 2",
         "        a = 1\n        if a:\n\n            b = 2\n            c = 3\n        d = 4"),
        ("            a = 1\n            if a:", "            a = 1\n            if b:",
         "        a = 1  \n        if a:", "        a = 1\n        if b:"),
        ("def g(self):\n    return 3", "def g(self):\n    return 4", None, None),
        ("b = 2\n\n\n", "", "b = 2\n\n", ""),
        ("a = 1\n\n\n", "a = 2", "a = 1  \n", "a = 2\n"),
        ("= 1\n\n", "", "= 1  \n", "\n"),
    ],
    ids=["line-ends", "around", "spaces", "newlines", "newlines-before", "further-in", "further-out", "tabs", "gone",
         "more-newlines", "half-a-line"],
)  # fmt: skip
def test_one_place_is_meant(old: str, new: str, before: str | None, after: str | None) -> None:
    expected = None if before is None or after is None else CODE.replace(before, after)
    assert edited(CODE, old, new) == expected


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a = 10\nb\n", "a = 1 \n"),
        ("import os\nimport osmium\n", "import os \nimport os\n"),
        ("def foobar():", "def foo\t"),
        ("max_retries = 30", "retries = 3\n\n"),
        ("prefoo(1)", " foo(1) "),
        ("xfoo = 1", " foo = 1"),
        ("a \na\n", "a  "),
        ("  x\n    x\n", "\tx"),
        ("if a:\n    b\n", "if a:\nb\n"),
        ("ab", "a b"),
        ("a\n\nb", "a\nb"),
        ("text", " \n\t"),
        ("  a\nb\n", " a\n b\n"),
    ],
    ids=[
        "number",
        "module",
        "name",
        "end",
        "before",
        "word",
        "twice",
        "twice-indented",
        "indented-by-more",
        "within",
        "lines",
        "nothing",
        "only-one-line",
    ],
)
def test_what_is_not_meant_in_one_place_is_not_found(text: str, old: str) -> None:
    assert alike(text, old, "new") is None


def test_lines_stay_lines() -> None:
    assert edited("a(1)\nb(2)\n", "a(1)\n\n", "a(1)\nc(3)\n") == "a(1)\nc(3)\nb(2)\n"
    assert edited("def f():\n    return a\n", "\n    return a\n\n", "\n    return b\n") == "def f():\n    return b\n"


def test_a_replacement_that_is_further_out_than_the_text_is_not_guessed_at() -> None:
    assert alike("        a\n        b\n", "    a\n    b\n", "a\n") is None


def test_the_words_say_what_differs_or_where_to_look() -> None:
    assert "around it" in replace_once("x = 1;", " x = 1 ", "x = 2", "/f").note
    assert replace_once("x = 1", "x = 1", "x = 2", "/f").note == ""
    with pytest.raises(ToolError, match="are the same, and /f has that text already"):
        replace_once("x = 1\n", " x = 1", "x = 1", "/f")
    with pytest.raises(ToolError, match=r"its first line is at 2, 4"):
        replace_once("a\n  b\nc\nb\n", "b\nx\n", "y", "/f")


LINES = st.lists(st.text(alphabet="ab(", min_size=1, max_size=4), min_size=1, max_size=4).map("\n".join)


@pytest.mark.simulated
@given(LINES, LINES, st.sampled_from(["", "  ", "\t", "        "]), st.sampled_from(["", " ", "\n", " \n\n"]))
def test_whatever_the_margin_and_the_ends_the_edit_is_the_same(old: str, new: str, margin: str, end: str) -> None:
    text = f"first\n{textwrap.indent(old, margin)}\nlast\n"
    assume(text.count(old.split("\n")[0]) == 1)
    assume(not margin or old not in text)  # what is there as it is given means just that
    assert edited(text, old + end, new + end) == f"first\n{textwrap.indent(new, margin)}\nlast\n"


@given(st.text(alphabet="ab \t\n", max_size=30), st.text(alphabet="ab \t\n", max_size=12), st.text(alphabet="c \n"))
def test_nothing_but_white_space_and_the_text_itself_is_replaced(text: str, old: str, new: str) -> None:
    found = alike(text, old, new)
    if found is not None:
        assert "".join(text[found.start : found.end].split()) == "".join(old.split())
        assert "".join(found.new.split()) == "".join(new.split())


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (" " * 200_000, " " * 100 + "x"),
        (" \n" * 100_000, "\n \nx"),
        ("a\n" * 100_000, "a\n" * 500 + "b"),
        ("\t" * 99_999, "a\nb"),
        ("a\nb\n" * 200_000, "a \nb \n" * 50_000 + "c"),
        (" a\n  a\n" * 200_000, "a\na\n" * 50_000 + "b"),
        ("ab " * 1_000_000, " b "),
        ("ab" * 500_000, "ab" * 100_000 + " "),
    ],
)
def test_much_that_is_alike_takes_no_long_time(text: str, old: str) -> None:
    assert within(5, lambda: alike(text, old, "x"))
