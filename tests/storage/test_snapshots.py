"""Snapshots as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentrt.events import ExecutionStatus
from agentrt.snapshot import Snapshot
from agentrt.storage.snapshots import SNAPSHOT, read_snapshot, write_snapshot

pytestmark = pytest.mark.simulated

STORED = Snapshot(seq=9, status=ExecutionStatus.FINISHED, cost=0.1, pending=("a",), view=(2, 3))


def test_what_was_written_is_read_and_replaced(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path) is None
    write_snapshot(tmp_path, Snapshot(seq=1))
    write_snapshot(tmp_path, STORED)
    assert read_snapshot(tmp_path) == STORED
    assert os.listdir(tmp_path) == [SNAPSHOT]


@pytest.mark.parametrize("damaged", [b"", b"{", b'{"seq":"x"}', b"\xff\xfe"])
def test_one_that_is_damaged_is_none(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / SNAPSHOT).write_bytes(damaged)
    assert read_snapshot(tmp_path) is None


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / SNAPSHOT).mkdir()
    with pytest.raises(OSError):
        write_snapshot(tmp_path, STORED)
    assert os.listdir(tmp_path) == [SNAPSHOT]
