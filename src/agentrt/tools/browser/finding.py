"""Finds an installed Chromium, or says what is missing."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import msgspec

COMMANDS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("microsoft-edge", "brave-browser", "chrome"),
)
"""Names of the program on different systems."""

VARIABLE = "AGENTRT_CHROMIUM"
"""Environment variable that names the program to use."""

MISSING = (
    "no Chromium is installed: `agentrt browser install` gets one, a system's own will do (apt install chromium), and"
    f" {VARIABLE} names another program"
)


class Found(msgspec.Struct, frozen=True):
    """What is installed: whether the library is, and the program, "" for the library's own one, None for none."""

    library: bool
    program: str | None


def found(own: str | None = None) -> Found:
    """Return what is installed. `own` is where the library would have its own browser, if known. For a thread."""
    named = os.environ.get(VARIABLE)
    if named:
        program = shutil.which(named)
    elif own is not None and os.access(own, os.X_OK):
        program = ""
    else:
        program = next((path for name in COMMANDS if (path := shutil.which(name)) is not None), None)
    return Found(find_spec("playwright") is not None, program)
