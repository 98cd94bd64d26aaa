"""Terminals of this machine, for tests of what uses them."""

from __future__ import annotations

from pathlib import Path

from agentrt.placing import Setting
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.local import LocalConsole
from agentrt.specs.workspace import Confine, LocalWorkspace


def here(path: Path, confine: Confine = "off") -> Here:
    """The place of a workspace."""
    return Here(LocalWorkspace(str(path), confine=confine), Setting(lambda function: None))


def local_console(path: Path, confine: Confine = "off") -> LocalConsole:
    """A terminal for a bash in a workspace."""
    return here(path, confine).console()
