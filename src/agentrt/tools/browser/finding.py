"""Finds an installed Chromium, or says what is missing."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import msgspec

from ...sandboxes.installed import installed

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
        program = shutil.which(named) if os.sep in named else program_of(named)
    elif own is not None and os.access(own, os.X_OK):
        program = ""
    else:
        program = next((path for name in COMMANDS if (path := program_of(name)) is not None), None)
    return Found(find_spec("playwright") is not None, program)


def program_of(name: str) -> str | None:
    """Return the path of an installed program; None if there is none."""
    try:
        return installed(name)
    except FileNotFoundError:
        return None
