"""Faults that are put into a copy of the code on purpose, and found by the first seeds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agentrt

from .world import SEEDS

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(agentrt.__file__).parent
WRITTEN = "                commit.encoded = self._journal.append(commit.batch, partial(self._committed, commit))\n"
DURABLE = "                self._hand_out(commit.due)\n"
FAULTS = {
    "the log hands commands out before their start is durable": (
        "actors/event_log.py",
        {DURABLE: "", WRITTEN: WRITTEN + DURABLE},
        "test_crashes.py",
    ),
    "the dispatcher begins only the first of several commands": (
        "actors/dispatcher.py",
        {"for command in commands:\n": "for command in commands[:1]:\n"},
        "test_people.py",
    ),
    "a delegation does not tell above what its child asks": (
        "actors/delegate.py",
        {"elif events := relayed_up(above, child_id, state):": "elif events := ():"},
        "test_people.py",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_found(tmp_path: Path, fault: str) -> None:
    module, changes, test = FAULTS[fault]
    shutil.copytree(SOURCE, tmp_path / "agentrt", ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    path = tmp_path / "agentrt" / module
    text = path.read_text()
    for old, new in changes.items():
        assert old in text, "the code has changed: put the fault in again"
        text = text.replace(old, new)
    path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", SEEDS: "0-150"}
    words = ["-m", "pytest", "-n", "0", "-x", "-m", "simulated", "-p", "no:cacheprovider", f"tests/simulation/{test}"]
    ran = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert f"again: {SEEDS}=" in ran.stdout
