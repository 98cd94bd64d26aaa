"""`workspace_of`: a given workspace in the form that a conversation keeps, and the rules stored for it."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from ..errors import WorkspaceMissing
from ..sandboxes.installed import keep_out
from ..specs import LocalWorkspace, PermissionRule, WorkspaceSpec
from ..storing import Storage
from .project_rules import project_rules


async def workspace_of(
    given: Path | str | WorkspaceSpec, storage: Storage
) -> tuple[WorkspaceSpec, tuple[PermissionRule, ...]]:
    """Return a workspace with an absolute path, and its rules in a storage.

    Raises `WorkspaceMissing`, or `ConfigurationError` if the rules cannot be read.
    """
    workspace = await anyio.to_thread.run_sync(looked_up, given)
    return workspace, await project_rules(storage, workspace.path)


def looked_up(given: Path | str | WorkspaceSpec) -> WorkspaceSpec:
    """Return a workspace with an absolute path. Raises `WorkspaceMissing`. For a thread."""
    workspace = LocalWorkspace(str(given)) if isinstance(given, Path | str) else given
    if not workspace.seen_here:
        return workspace
    path = Path(workspace.path).absolute()
    if not os.path.isdir(path):  # also false for a name that is too long or has a NUL
        raise WorkspaceMissing(path)
    keep_out(str(path))
    return workspace.at(str(path))
