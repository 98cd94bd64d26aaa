"""Which skills a message or a file activates."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.specs.skill import Skill
from agentrt.specs.triggers import activated, arguments, asked, missing_inputs, said, touched
from tests.timing import within

pytestmark = pytest.mark.pure

PDF = Skill(name="pdf", triggers=("pdf", "C++", "a form"))
FIX = Skill(name="fix", triggers=("/fix-bug",), inputs=("file", "line"))


@pytest.mark.parametrize(
    ("text", "activated"),
    [
        ("Read the PDF.", True),
        ("pdf", True),
        ("my_pdf, please", True),
        ("Fill A Form now", True),
        ("write C++!", True),
        ("pdfs", False),
        ("1pdf", False),
        ("épdf", False),
        ("a formula", False),
        ("", False),
    ],
)
def test_a_whole_word_in_any_case_activates(text: str, activated: bool) -> None:
    assert list(said([PDF, FIX], text)) == ([PDF] if activated else [])


@pytest.mark.parametrize(
    ("text", "activated"),
    [
        ("/fix-bug file=a.py", True),
        ("Do /FIX-BUG", True),
        ("x/fix-bug", False),
        ("/fix-bugs", False),
        ("/fix-bug/x", False),
    ],
)
def test_a_task_is_named_with_its_slash(text: str, activated: bool) -> None:
    assert list(asked([PDF, FIX], text)) == ([FIX] if activated else [])


def test_inputs_that_a_message_does_not_give_are_asked_for() -> None:
    assert missing_inputs(FIX, "/fix-bug File: a.py") == ("line",)
    assert missing_inputs(FIX, "/fix-bug file=a.py line = 5") == ()


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        ("*.py", ("a.py", "x/y/a.py"), ("a.pyc", "a.py/x")),
        ("src/*.py", ("src/a.py",), ("src/x/a.py", "a.py", "x/src/a.py")),
        ("src/**/*.py", ("src/a.py", "src/x/y/a.py"), ("lib/a.py",)),
        ("src/", ("src/a.py", "src/x/a.py"), ("src", "lib/a.py")),
        ("./src/*.[ch]", ("src/a.c", "src/a.h"), ("src/a.py",)),
        ("docs/**", ("docs/a", "docs/x/a"), ("docs",)),
        ("a?[xy].md", ("abx.md", "sub/aby.md"), ("abz.md", "ab[xy].md")),
    ],
)
def test_a_pattern_fits_paths(pattern: str, fits: tuple[str, ...], not_: tuple[str, ...]) -> None:
    skill = Skill(name="x", paths=(pattern,))
    assert all(list(touched([skill], path)) for path in fits)
    assert not any(list(touched([skill], path)) for path in not_)


@given(st.text(min_size=1), st.text())
def test_any_trigger_and_any_text(trigger: str, text: str) -> None:
    skill = Skill(name="x", triggers=(trigger,), paths=(trigger,))
    for found in (said([skill], text), asked([skill], text), touched([skill], text)):
        assert list(found) in ([], [skill])


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    skill = Skill(name="x", paths=("*a" * 100 + "b", "/".join(["**"] * 100) + "/b"))

    def found(path: str) -> list[Skill]:
        return list(touched([skill], path))

    for path in ("a" * 200, "/".join("a" * 200)):
        assert found(path) == []
        assert within(0.5, partial(found, path))


def test_many_triggers_and_a_long_message_take_no_time() -> None:
    skills = [Skill(name=str(n), triggers=tuple(f"word{n}x{m}" for m in range(10))) for n in range(500)]
    text = "some words, WORD7X3 " * 5000
    assert activated(skills, text) == ("7",)
    assert within(2, lambda: activated(skills, text))


def test_a_package_is_told_by_a_word_once_and_by_its_name_always() -> None:
    skill = Skill(name="pdf", triggers=("paper",), is_package=True)
    assert activated([skill], "a paper") == ("pdf",)
    assert activated([skill], "a paper", known=("pdf",)) == ()
    assert activated([skill], "/pdf a paper", known=("pdf",)) == ("pdf",)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("/dep staging now", "staging now"),
        ("/dep\nstaging", "staging"),
        ("please /dep x", "x"),
        ("/dep", ""),
        ("x", ""),
    ],
)
def test_what_follows_on_the_name_of_a_task(text: str, given: str) -> None:
    assert arguments(text) == given
