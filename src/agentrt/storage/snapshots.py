"""Snapshots beside a log: `snapshot.json`, a cache that may be missing or behind."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..snapshot import Snapshot
from .disk import replace_file

SNAPSHOT = "snapshot.json"

_decoder = msgspec.json.Decoder(Snapshot)


def write_snapshot(directory: Path, snapshot: Snapshot) -> None:
    """Replace the snapshot in a conversation's directory; for a thread. Raises `OSError`.

    A reader sees the old one or the new one. It is not synced: what a crash takes of it can be made again.
    """
    replace_file(directory / SNAPSHOT, msgspec.json.format(msgspec.json.encode(snapshot)) + b"\n")


def read_snapshot(directory: Path) -> Snapshot | None:
    """The snapshot in a conversation's directory; None when there is none that can be read. For a thread."""
    try:
        return _decoder.decode((directory / SNAPSHOT).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
