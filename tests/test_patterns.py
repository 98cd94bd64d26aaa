"""No regular expression takes long, whatever the text: the event loop, and the lock of the interpreter, wait for it."""

from __future__ import annotations

import re

import pytest

from .patterns import Used, has_possessive_group, slow_on, used_patterns

pytestmark = pytest.mark.pure

BOUNDED = {
    "agentrt.tools.signatures._PARAMETERS": "docstrings of the program's own functions",
    "agentrt.security.script_code._TEXT": "arguments of at most 4096 characters",
    "agentrt.tools.search.including._SET": "patterns of at most 1000 characters",
}
"""Patterns that backtrack, and what bounds their texts."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_pattern_backtracks() -> None:
    slow = {used.where: text for used in used_patterns() if (text := slow_on(used)) is not None}
    assert {where: text for where, text in slow.items() if where not in BOUNDED} == {}
    assert set(BOUNDED) <= set(slow), "none that is listed is fast now"


@pytest.mark.simulated
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_group_is_possessive() -> None:
    """Python before 3.11.5, as Debian 12 has it, matches such a group wrongly (python/cpython#106052)."""
    assert [used.where for used in used_patterns() if has_possessive_group(used.pattern)] == []


@pytest.mark.parametrize(
    ("pattern", "is_one"),
    [(r"(?:ab|c)*+", True), (r"(a)?+", True), (r"x(?=(?:ab){2,3}+)", True), (r"[ab]*+\s++c?+", False)],
)
def test_a_possessive_group_is_found(pattern: str, is_one: bool) -> None:
    assert has_possessive_group(re.compile(pattern)) is is_one


@pytest.mark.parametrize(
    ("pattern", "method", "slow"),
    [
        (r"(['\"])((?:\\.|(?!\1).)*)\1", "search", True),
        (r"(['\"])((?:\\.|(?!\1|\\).)*+)(?:\1|\\?\Z)", "search", False),
        (r"exec\s*\(?\s*x", "search", True),
        (r"exec\s*+\(?\s*+x", "search", False),
        (r"(?m)^\s*!", "search", True),
        (r"(?m)^\s*!", "match", False),
        (r"(?:a|b)+c", "match", False),
        (r"(?:\w+\s?)+!", "match", True),
    ],
)
def test_one_that_backtracks_is_found(pattern: str, method: str, slow: bool) -> None:
    assert (slow_on(Used("here", re.compile(pattern), frozenset({method}))) is not None) is slow
