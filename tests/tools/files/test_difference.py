"""Unified diffs, as patch(1) reads them."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agentrt.tools.files.difference import diff
from tests.timing import within

pytestmark = pytest.mark.real

LINES = "".join(f"line {number}\n" for number in range(1, 21))
ODD = st.text("ab\n\r\f\x1c\u2028\x85", max_size=40)
"""Texts with characters that Python, but no other tool, takes for the end of a line."""
LONG = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\n"]), max_size=60).map("".join)


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch(1)")
@settings(max_examples=50)
@given(old=ODD | LONG, new=ODD | LONG)
@example(old="\n\n\n\na\n", new="\n\n\n\n\na\n")
def test_patch_makes_the_new_text_of_the_old_one_and_the_diff(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str
) -> None:
    assume(old and new and old != new)
    folder = tmp_path_factory.mktemp("diff")
    (folder / "f").write_bytes(old.encode())
    changes = diff(old, new, "/f").encode()
    subprocess.run(["patch", "--binary", "--silent", "-p1"], cwd=folder, input=changes, check=True, capture_output=True)
    assert (folder / "f").read_bytes() == new.encode()


@pytest.mark.pure
def test_a_diff_says_where_the_last_newline_is_missing() -> None:
    assert diff("a\nb", "a\nc\n", "/dir/f") == (
        "--- a/dir/f\n+++ b/dir/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


@pytest.mark.pure
def test_the_diff_of_equal_texts_is_empty() -> None:
    assert diff(LINES, LINES, "/f") == ""


def test_the_diff_of_long_texts_with_little_in_common_ends(tmp_path: Path) -> None:
    """Each line is in both many times, and not so often that `difflib` leaves it out."""
    chance = random.Random(1)
    old, new = ("".join(f"{chance.randrange(150)}\n" for _ in range(60_000)) for _ in range(2))
    assert within(30, lambda: diff(old, new, "f"))
    (tmp_path / "f").write_text(old)
    subprocess.run(["patch", "--silent", "-p1"], cwd=tmp_path, input=diff(old, new, "f").encode(), check=True)
    assert (tmp_path / "f").read_text() == new
