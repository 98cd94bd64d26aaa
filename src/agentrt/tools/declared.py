"""What tools declare that only read files. Pure."""

from __future__ import annotations

from typing import Protocol

from ..specs import ToolAnnotations, Workspace
from ..specs.effects import Effects

READS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


class OfAPath(Protocol):
    """Arguments that name what is read; "" is the workspace."""

    @property
    def path(self) -> str: ...


def reads_path(action: OfAPath, workspace: Workspace) -> Effects:
    """It reads all at or below the path."""
    return Effects() if "\0" in action.path else Effects(reads=(action.path or workspace.path,))


def nothing_shared(action: object, workspace: Workspace) -> tuple[str, ...]:
    """Its calls run beside all others: a file that is written meanwhile is there as it was, or as it will be."""
    return ()
