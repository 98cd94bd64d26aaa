"""What a deleted conversation keeps for its forks, also for those that are being made."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.storage.lineage import adopt, delete, forks, is_deleted
from agentrt.storage.reading import EVENTS

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize("written", [None, b"", b'{"i":1,"n":2,"origin":'])
def test_a_fork_whose_first_batch_is_being_written_needs_its_parent(tmp_path: Path, written: bytes | None) -> None:
    (parent := tmp_path / "parent").mkdir()
    (parent / EVENTS).write_bytes(b'{"seq":1}\n')
    adopt(parent, "fork")
    if written is not None:
        (tmp_path / "fork" / EVENTS).write_bytes(written)
    assert forks(parent) == ["fork"]
    delete(parent)
    assert is_deleted(parent)
    assert (parent / EVENTS).exists()


def test_one_of_another_origin_needs_nothing(tmp_path: Path) -> None:
    (parent := tmp_path / "parent").mkdir()
    (parent / EVENTS).write_bytes(b'{"seq":1}\n')
    adopt(parent, "fork")
    (tmp_path / "fork" / EVENTS).write_bytes(b'{"seq":1}\n')
    assert forks(parent) == []
    delete(parent)
    assert not parent.exists()
