"""The Python that containers mount: made once for all of them, and gone with the last one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentrt.sandboxes.kit import PYTHON, TARGET, Kits


@pytest.mark.real
def test_it_is_made_once_and_removed_with_its_last_user() -> None:
    kits = Kits()
    first, second = kits.take(), kits.take()
    place = Path(first[TARGET])
    assert second is first
    kits.give_back()
    assert place.is_dir()
    start = place / PYTHON.removeprefix(f"{TARGET}/")
    _, loader, *rest = start.read_text().replace(TARGET, str(place)).splitlines()[1].split()[:-1]
    ran = subprocess.run([loader, *rest, "-S", "-c", ""], capture_output=True, env={}, check=False)
    assert b"cannot open shared object" not in ran.stderr  # it has its libraries beside it
    kits.give_back()
    assert not place.exists()
    again = kits.take()
    assert Path(again[TARGET]).is_dir()
    kits.give_back()
