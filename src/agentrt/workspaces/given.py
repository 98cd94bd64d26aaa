"""`workspace_of`: a given workspace in the form that a conversation keeps, and the rules stored for it."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread
from msgspec.structs import replace

from ..errors import WorkspaceMissing
from ..sandboxes.installed import keep_out
from ..specs import LocalWorkspace, PermissionRule, Workspace
from ..storing import Storage
from .project_rules import project_rules


async def workspace_of(given: Path | str | Workspace, storage: Storage) -> tuple[Workspace, tuple[PermissionRule, ...]]:
    """Return a workspace with an absolute path, and its rules in a storage.

    Raises `WorkspaceMissing`, or `ConfigurationError` if the rules cannot be read.
    """
    path = await anyio.to_thread.run_sync(_looked_up, given)
    rules = await project_rules(storage, path)
    if isinstance(given, Path | str):
        return LocalWorkspace(path), rules
    return replace(given, path=path), rules


def _looked_up(given: Path | str | Workspace) -> str:
    path = Path(given if isinstance(given, Path | str) else given.path).absolute()
    if not os.path.isdir(path):  # also false for a name that is too long or has a NUL
        raise WorkspaceMissing(path)
    keep_out(str(path))
    return str(path)
