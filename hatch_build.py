"""Builds the web console into the wheel, where Node is there to build it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_WEB = Path("src/agentrt/server/web")
_NODE = (20, 19)
"""The oldest that the build tools run on."""


class ConsoleBuildHook(BuildHookInterface[Any]):
    """Runs npm for a wheel; an editable install does not need it, and a wheel without Node has no console."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build `dist/`. Raises `CalledProcessError` when npm is there and fails."""
        web = Path(self.root) / _WEB
        if version == "editable" or not (web / "package-lock.json").is_file():
            return
        npm = shutil.which("npm")
        if npm is not None and _node() >= _NODE:
            for step in (("ci", "--no-audit", "--no-fund"), ("run", "build")):
                subprocess.run([npm, *step], cwd=web, check=True)
        elif not (web / "dist" / "index.html").is_file():
            self.app.display_warning("THIS WHEEL HAS NO WEB CONSOLE: npm and Node 20.19 or later were not found.")


def _node() -> tuple[int, ...]:
    """The version of Node, () where there is none."""
    node = shutil.which("node")
    if node is None:
        return ()
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2])
