"""MEMORY.md: the newest notes that fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.sources.memory import find_memory
from agentrt.sources.text import Reader
from agentrt.specs.memory import LONGEST, newest

from .test_skills import write

pytestmark = pytest.mark.pure


@given(st.lists(st.text("abc é", min_size=1), min_size=1))
def test_the_oldest_lines_are_left_out_and_that_is_said(lines: list[str]) -> None:
    text = "\n".join(lines).strip()
    shown = newest(text, 20)
    if len(text) <= 20:
        assert shown == text
    else:
        head, _, rest = shown.partition("\n")
        assert head.endswith("older lines are left out.]")
        assert text.endswith(rest)
        assert len(rest) <= 20


@pytest.mark.simulated
def test_the_first_file_counts(tmp_path: Path) -> None:
    write(tmp_path / ".agents/memory/MEMORY.md", "older")
    (memory,) = find_memory(tmp_path, Reader(), "user")
    assert (memory.text, memory.origin) == ("older", "user")
    write(tmp_path / ".openhands/memory/MEMORY.md", "x\n" * LONGEST)
    (memory,) = find_memory(tmp_path, Reader(), "user")
    assert len(memory.text) < LONGEST + 60
    assert find_memory(tmp_path / "nowhere", Reader(), "user") == ()
