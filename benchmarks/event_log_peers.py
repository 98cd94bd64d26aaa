"""Brings the peer's part of `bench_event_log` to its interpreter."""

from __future__ import annotations

from pathlib import Path

from compare_openhands import WORK, Peer

LOG_WORK = Path(__file__).with_name("event_log_openhands.py")

_LOAD = """
import sys, types
module = sys.modules["openhands_work"] = types.ModuleType("openhands_work")
exec(compile({base!r}, "openhands_work.py", "exec"), module.__dict__)
exec(compile({own!r}, "event_log_openhands.py", "exec"), {{"__name__": "__main__"}})
"""


def log_peer(command: str) -> Peer:
    """The other side's interpreter. Both scripts go in over stdin, since it may have another file system."""
    return Peer(command, _LOAD.format(base=WORK.read_text(), own=LOG_WORK.read_text()))
