"""CI runs what the README names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulated

ROOT = Path(__file__).parent.parent


def test_ci_runs_the_test_command_of_the_readme() -> None:
    section = (ROOT / "README.md").read_text().partition("## Test it")[2].partition("\n## ")[0]
    (command,) = re.findall(r"^    (\S.*)$", section, re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()
    assert command in (ROOT / "CONTRIBUTING.md").read_text()


def test_a_commit_is_named_at_which_all_long_tests_passed() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}\n", (ROOT / ".ci" / "proved").read_text())
