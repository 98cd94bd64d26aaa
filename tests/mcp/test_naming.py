"""Names of servers' tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.mcp.naming import legal, named, offered

pytestmark = pytest.mark.pure


@given(st.text(min_size=1, max_size=200))
def test_every_name_is_made_legal_for_every_provider(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", legal(name))


def test_a_legal_name_stays_and_long_ones_stay_apart() -> None:
    assert legal("read_file-2") == "read_file-2"
    assert legal("files.read/one") == "files_read_one"
    assert legal("x" * 70 + "a") != legal("x" * 70 + "b")


def test_a_tool_keeps_its_name_unless_that_is_taken() -> None:
    found = named("git", ["log", "Think", "log", "git_think", "a.b", "a_b"], {"think"})
    assert found == {"log": "log", "Think": "git_Think", "git_think": "git_git_think", "a.b": "a_b", "a_b": "git_a_b"}


@given(st.lists(st.text("ab.", min_size=1, max_size=3)), st.sets(st.text("abs_", min_size=1, max_size=5)))
def test_no_two_tools_have_one_name(tools: list[str], taken: set[str]) -> None:
    found = named("s", tools, taken)
    assert set(found) == set(tools)
    assert len({name.lower() for name in found.values()}) == len(found)
    assert not {name.lower() for name in found.values()} & {name.lower() for name in taken}


@pytest.mark.parametrize(
    ("include", "exclude", "pattern", "is_offered"),
    [
        ((), (), None, True),
        (("read*",), (), None, True),
        (("write*",), (), None, False),
        ((), ("*file",), None, False),
        ((), (), "read|write", True),
        ((), (), "file", False),
    ],
)
def test_filters(include: tuple[str, ...], exclude: tuple[str, ...], pattern: str | None, is_offered: bool) -> None:
    assert offered("read_file", include, exclude, pattern) is is_offered
