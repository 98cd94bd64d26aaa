"""`main`: runs the command line. Ctrl-C while it is being loaded ends the process without a traceback."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C, by shell convention."""


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)  # nothing has begun; an exception in the middle of an import would be printed


def main() -> None:
    """Load the command line and run it with the words of this process."""
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds:
        signal.signal(signal.SIGINT, _leave)
    from .main import main as run

    if heeds:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
