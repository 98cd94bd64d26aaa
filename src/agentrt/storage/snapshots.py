"""Snapshots beside a log: `snapshot.json`, a cache that may be missing or outdated."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..snapshot import Snapshot
from ..specs.workspace import as_workspace
from .disk import replace_file

SNAPSHOT = "snapshot.json"

_decoder = msgspec.json.Decoder(Snapshot, dec_hook=as_workspace)


def write_snapshot(directory: Path, snapshot: Snapshot) -> None:
    """Replace the snapshot in a conversation's directory; for a thread. Raises `OSError`.

    A reader sees the old one or the new one. It is not synced: a snapshot lost in a crash can be rebuilt.
    """
    replace_file(directory / SNAPSHOT, msgspec.json.format(msgspec.json.encode(snapshot)) + b"\n")


def read_snapshot(directory: Path) -> Snapshot | None:
    """Return the snapshot in a conversation's directory; None if there is none that can be read. For a thread."""
    try:
        return _decoder.decode((directory / SNAPSHOT).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
