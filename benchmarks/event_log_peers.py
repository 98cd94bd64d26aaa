"""Brings the peer's part of `bench_event_log` to its interpreter."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from compare_openhands import TIMEOUT, WORK, PeerFailed

LOG_WORK = Path(__file__).with_name("event_log_openhands.py")

_LOAD = """
import sys, types
module = sys.modules["openhands_work"] = types.ModuleType("openhands_work")
exec(compile({base!r}, "openhands_work.py", "exec"), module.__dict__)
exec(compile({own!r}, "event_log_openhands.py", "exec"), {{"__name__": "__main__"}})
"""


class LogPeer:
    """The other side's interpreter. Both scripts go in over stdin, since it may have another file system."""

    def __init__(self, command: str) -> None:
        self._command = shlex.split(command)
        self._script = _LOAD.format(base=WORK.read_text(), own=LOG_WORK.read_text())

    def work(self, name: str, **given: Any) -> Any:
        """What one piece of work gives. Raises `PeerFailed`."""
        try:
            done = subprocess.run(
                [*self._command, "-", name, json.dumps(given)],
                input=self._script,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PeerFailed(str(error)) from error
        try:
            return json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise PeerFailed((done.stderr or done.stdout).strip()[-300:] or f"exit code {done.returncode}") from None
