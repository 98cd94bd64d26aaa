"""`agentrt doctor` says what this machine holds, and what it would take."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("refused", "code", "words"),
    [
        ([], 0, "commands are confined here: a box was made"),
        (["namespaces"], 0, "commands are partly confined here"),
        (["namespaces", "landlock"], 1, "nothing can confine commands here"),
    ],
)
def test_it_says_what_holds_here(refused: list[str], code: int, words: str) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.sandboxes.refusing",
        *refused,
        "--",
        sys.executable,
        "-m",
        "agentrt",
        "doctor",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (code, "")
    assert said.stdout.startswith(words)
