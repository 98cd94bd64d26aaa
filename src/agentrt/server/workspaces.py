"""The workspaces of a server: directories below which its conversations work, each in one of its own or a given one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path

import anyio
import anyio.to_thread

from ..errors import ConfigurationError, WorkspaceError
from ..sandboxes.installed import keep_out
from ..specs import LocalWorkspace, WorkspaceSpec
from .settings import ServerSettings


async def keep_all_out(roots: Sequence[Path]) -> None:
    """Never start a program of this process's own from below the workspaces of the server."""
    for root in roots:
        await anyio.to_thread.run_sync(keep_out, str(root))


@asynccontextmanager
async def new_workspace(roots: Sequence[Path], given: str | None, name: str) -> AsyncIterator[Path]:
    """Yield the directory that a request gives, or that of conversation `name`, which is made.

    A directory that was made is removed if the body fails and nothing was written to it. Raises `ConfigurationError`
    if the server has no workspaces or the given one is not below them, and `WorkspaceError` if none can be made.
    """
    if not roots:
        raise ConfigurationError("this server has no workspaces: start it with --workspaces DIR")
    path, is_new = await anyio.to_thread.run_sync(_found if given is not None else _made, roots, given or name)
    try:
        yield path
    except BaseException:
        if is_new:
            with anyio.CancelScope(shield=True), suppress(OSError):
                await anyio.to_thread.run_sync(path.rmdir)
        raise


def spec_at(path: Path, settings: ServerSettings) -> WorkspaceSpec:
    """Return the workspace of a directory: in a container, or on this machine."""
    if settings.container is not None:
        return settings.container.at(str(path))
    return LocalWorkspace(str(path), confine=settings.confine)


def _made(roots: Sequence[Path], name: str) -> tuple[Path, bool]:
    """Make a directory below the first root; return it, and whether it is new. For a thread."""
    path = roots[0].resolve() / name
    try:
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        code = "disk-full" if error.errno in (ENOSPC, EDQUOT) else "file"
        raise WorkspaceError(code, f"cannot create a workspace: {error.strerror or error}") from error
    return path, is_new


def _found(roots: Sequence[Path], given: str) -> tuple[Path, bool]:
    """Return a directory that a request gives, and that it is not new. For a thread."""
    if "\0" in given:
        raise ConfigurationError(f"workspace {given!r} has a NUL in it, which no path has")
    resolved = [root.resolve() for root in roots]
    path = Path(os.path.realpath(resolved[0] / given))
    if not any(path.is_relative_to(root) for root in resolved):
        below = ", ".join(map(str, resolved))
        raise ConfigurationError(
            f"workspace {given!r} is not below this server's workspaces: name a directory in {below}"
        )
    return path, False
