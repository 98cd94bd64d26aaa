"""Copies a workspace to a new directory, for a conversation that continues there."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path
from threading import Event

import anyio
import anyio.to_thread

from ..errors import ConfigurationError, WorkspaceError


async def copy(source: str, target: Path, apart_from: Collection[str] = ()) -> None:
    """Copy files, links and directories with their permissions and times, except what is at the paths `apart_from`.

    What disappears meanwhile is left out. Raises `ConfigurationError` for an unsuitable target, and `WorkspaceError`;
    then, and if it is cancelled, no copy is left.
    """
    stop = Event()
    try:
        await anyio.to_thread.run_sync(_copy, source, target, apart_from, stop, abandon_on_cancel=True)
    except BaseException:
        stop.set()
        raise


async def remove(directory: Path) -> None:
    """Remove a copy that is no longer needed."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(lambda: shutil.rmtree(directory, ignore_errors=True))


def _copy(source: str, target: Path, apart_from: Collection[str], stop: Event) -> None:
    _check(Path(os.path.realpath(source)), Path(os.path.realpath(target)))
    apart = {os.path.realpath(path) for path in apart_from}

    def ignored(directory: str, names: list[str]) -> set[str]:
        if stop.is_set():
            raise InterruptedError
        real = os.path.realpath(directory)
        return {name for name in names if f"{real}/{name}" in apart or _is_special(f"{directory}/{name}")}

    try:
        shutil.copytree(source, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
    except shutil.Error as error:
        if lasting := [(path, why) for path, _, why in error.args[0] if os.path.lexists(path)]:
            shutil.rmtree(target, ignore_errors=True)
            raise WorkspaceError("file", f"{lasting[0][0]}: {lasting[0][1]}") from error
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        if stop.is_set():
            return
        raise WorkspaceError("file", f"{error.filename or target}: {error.strerror}") from error


def _check(source: Path, target: Path) -> None:
    if target.is_relative_to(source) or source.is_relative_to(target):
        raise ConfigurationError(f"{target} and {source} are in one another: name a directory beside it")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigurationError(f"{target} exists already: name a new directory, or an empty one")


def _is_special(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return True  # gone meanwhile
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
