"""Terminals of this machine, for tests of what uses them."""

from __future__ import annotations

from pathlib import Path

from agentrt.placing import Setting
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.holding import Hold
from agentrt.sandboxes.local import LocalConsole
from agentrt.specs.workspace import Confine, LocalWorkspace


def here(path: Path, confine: Confine = "off", hold: Hold | None = None) -> Here:
    """The place of a workspace; with "auto", one where no box can be made. `hold` makes the box; None: what works."""
    probe = (lambda: "namespaces are refused") if confine == "auto" else None
    return Here(LocalWorkspace(str(path), confine=confine), Setting(lambda function: None), probe, hold)


def local_console(path: Path, confine: Confine = "off") -> LocalConsole:
    """A terminal for a bash in a workspace."""
    return here(path, confine).console()
