"""The directory in which what a tool starts begins: the workspace."""

from __future__ import annotations

import os

import anyio.to_thread

from ..errors import ToolError
from ..specs import LocalWorkspace, Workspace

MADE_AGAIN = "the workspace was gone: it was made again, and is empty"
"""What is told where `made_again` has done so."""


async def made_again(workspace: Workspace) -> bool:
    """Make a workspace of this machine where it is gone, as by a command of the agent; whether it was.

    Else nothing could start any more that would make it. Raises `ToolError`.
    """
    if not isinstance(workspace, LocalWorkspace):
        return False
    try:
        return await anyio.to_thread.run_sync(_make, workspace.path)
    except OSError as error:
        raise ToolError(f"the workspace {workspace.path} is not there: {error.strerror or error}") from error


def _make(path: str) -> bool:
    if os.path.isdir(path):
        return False
    os.makedirs(path)
    return True
