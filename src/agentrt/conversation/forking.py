"""The workspace of a fork that has its own files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..actors.group import ConversationGroup
from ..errors import WorkspaceError
from ..specs import WorkspaceSpec
from ..workspaces.copying import copy, remove


@asynccontextmanager
async def forked_files(
    group: ConversationGroup, at: int, name: str, files: bool | str
) -> AsyncIterator[WorkspaceSpec | None]:
    """Yield a copy of the workspace as it was after event `at`: in the directory `files`, or in a new one beside the
    workspace. Yield None if the fork works in the same workspace. The copy is removed if the body fails.

    Raises `ConfigurationError` for an unsuitable directory, and `WorkspaceError`.
    """
    created, keeper = group.feed.state.created, group.keeper
    if files is False or created is None:
        yield None
        return
    if not created.workspace.seen_here:
        raise WorkspaceError("elsewhere", "a workspace that only its place has is not copied: fork without its files")
    if keeper is None:
        raise WorkspaceError("no-checkpoint", "this store keeps none")
    is_now = at == group.feed.state.seq
    if not is_now:
        await keeper.check(at)
    source = created.workspace.path
    target = _target(source, name, files)
    await copy(source, target, keeper.trees.apart_from)
    try:
        if not is_now:
            await keeper.restore_copy(str(target), at)
        yield created.workspace.at(str(target))
    except BaseException:
        await remove(target)
        raise


def _target(source: str, name: str, files: bool | str) -> Path:
    return Path(files).absolute() if isinstance(files, str) else Path(f"{source}-{name[-8:]}")
