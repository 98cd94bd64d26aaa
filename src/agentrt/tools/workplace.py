"""`made_again`: recreates the workspace, in which the processes of tools start."""

from __future__ import annotations

import os

import anyio.to_thread

from ..errors import ToolError
from ..specs import LocalWorkspace, Workspace

MADE_AGAIN = "the workspace was gone: it was made again, and is empty"
"""The note to the model if `made_again` has recreated the workspace."""


async def made_again(workspace: Workspace) -> bool:
    """Recreate a workspace on this machine if it is gone (a command may have removed it); return whether it was gone.

    Without the directory, no process could start that would recreate it. Raises `ToolError`.
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
