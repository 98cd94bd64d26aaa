"""Terminals of this machine, for tests of what uses them."""

from __future__ import annotations

from pathlib import Path

from agentrt.placing import DEVNULL, Setting
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


async def said(place: Here, command: str) -> str:
    """What a shell command in the workspace says."""
    process = await place.run(["bash", "-c", f"exec 2>&1; {command}"], cwd=place.workspace.path, stdin=DEVNULL)
    assert process.stdout is not None
    text = b"".join([piece async for piece in process.stdout]).decode()
    await process.wait()
    process.close_pipes()
    return text
