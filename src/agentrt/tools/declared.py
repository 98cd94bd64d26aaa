"""Declarations of tools that only read files. Pure."""

from __future__ import annotations

from typing import Protocol

from ..specs import ToolAnnotations, WorkspaceSpec
from ..specs.effects import Effects

READS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


class OfAPath(Protocol):
    """Arguments with the path to read; "" is the workspace."""

    @property
    def path(self) -> str: ...


def reads_path(action: OfAPath, workspace: WorkspaceSpec) -> Effects:
    """Return the effects of a call that reads everything at or below its path."""
    return Effects() if "\0" in action.path else Effects(reads=(action.path or workspace.path,))


def nothing_shared(action: object, workspace: WorkspaceSpec) -> tuple[str, ...]:
    """Return no resource keys: the call may run beside all others. A file that is written meanwhile is read either as
    it was or as it will be.
    """
    return ()
