"""Patterns of paths."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.search.including import expressions, last_names, levels, rooted

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", True),
        ("*.py", "a.py/b", False),
        ("/*.py", "src/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "other/src/a.py", False),
        ("src/**/a", "src/a", True),
        ("src/**", "src/a/b", True),
        ("src", "src/a", False),
        ("src/", "src/a/b", True),
        ("*.{a,b}", "x.b", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("**", "any/thing", True),
    ],
)
def test_what_fits(pattern: str, path: str, fits: bool) -> None:
    assert any(re.match(one, path, re.DOTALL) for one in expressions(pattern)) is fits


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*.py", ("*.py",)), ("src/*.{js,ts}", ("*.js", "*.ts")), ("a?", ("a*",)), ("src/**", ()), ("[ab]", ())],
)
def test_names(pattern: str, names: tuple[str, ...]) -> None:
    assert last_names(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("/a/b/*.py", ("/a/b", "/*.py")),
        ("/a/**/x", ("/a", "/**/x")),
        ("/a/b", ("/a", "/b")),
        ("/*", ("/", "/*")),
        ("/", ("/", "")),
    ],
)
def test_absolute_patterns(pattern: str, parts: tuple[str, str]) -> None:
    assert rooted(pattern) == parts


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("*.py", None), ("/*.py", 1), ("src/*", 2), ("./a/b/c", 3), ("{a/b,/c}", 2), ("{a,/c}", None), ("a/**", None),
     ("a/", None), ("a/**/b", None)],
)  # fmt: skip
def test_how_deep_paths_are(pattern: str, found: int | None) -> None:
    assert levels(pattern) == found


@given(st.text(alphabet="ab/*?[]{},.!\\ -#\n", min_size=1, max_size=12))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        found = expressions(text)
    except ToolError:
        return
    last_names(text)
    assert all(re.compile(one) for one in found)
