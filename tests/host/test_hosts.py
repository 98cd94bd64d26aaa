"""When the conversations of a process sleep."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from agentrt.host.hosts import SHORT, memory_is_short

pytestmark = pytest.mark.simulated

plenty = psutil.virtual_memory().available > 2 * SHORT * psutil.virtual_memory().total


def control_group(place: Path, most: str, used: int, files: int) -> Path:
    (place / "memory.max").write_text(f"{most}\n")
    (place / "memory.current").write_text(f"{used}\n")
    (place / "memory.stat").write_text(f"anon 1\ninactive_file {files}\n")
    return place


@pytest.mark.skipif(not plenty, reason="the machine's own memory is short")
@pytest.mark.parametrize(
    ("most", "used", "files", "short"),
    [
        ("max", 10**9, 0, False),
        ("1000000", 800_000, 0, False),
        ("1000000", 950_000, 0, True),
        ("1000000", 950_000, 100_000, False),
    ],
)
def test_memory_is_that_of_the_control_group(tmp_path: Path, most: str, used: int, files: int, short: bool) -> None:
    assert memory_is_short(control_group(tmp_path, most, used, files)) is short


@pytest.mark.skipif(not plenty, reason="the machine's own memory is short")
def test_without_a_control_group_the_machine_counts(tmp_path: Path) -> None:
    assert not memory_is_short(tmp_path / "none")
