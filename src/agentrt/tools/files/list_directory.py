"""`list_directory`: lists a directory, for models that know Gemini's tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import anyio.to_thread
import msgspec
from anyio.from_thread import check_cancelled
from msgspec import Meta

from ...errors import ToolError
from ...protocols import Files, Observation, ToolContext
from ...specs import OnCrash, WorkspaceSpec
from ...specs.content import sound, text
from ...specs.effects import Effects
from ..declared import READS, nothing_shared
from ..definition import Params, ToolType
from .opened import place

MAX_ENTRIES = 500
"""Maximum number of entries shown by one call."""


class ListDirectoryAction(msgspec.Struct, frozen=True):
    """Arguments of `list_directory`."""

    dir_path: Annotated[str, Meta(description="The directory: absolute, or from the workspace on.")] = "."
    recursive: Annotated[bool, Meta(description="Also list what is in the directories in it.")] = False


class ListDirectoryObservation(Observation, frozen=True, kw_only=True):
    """The number of entries, and whether only some of them are shown."""

    dir_path: str
    total_count: int
    is_truncated: bool


class ListDirectory:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: ListDirectoryAction, context: ToolContext) -> ListDirectoryObservation:
        """Return the entries, directories first. Raises `ToolError` if the path is not a directory."""
        return await anyio.to_thread.run_sync(_list, action, context)

    async def aclose(self) -> None: ...


def _list(action: ListDirectoryAction, context: ToolContext) -> ListDirectoryObservation:
    path = place(action.dir_path, context)
    lines = list(_entries(path, "", context.files, 2 if action.recursive else 1))
    said = [f"{path}:", *lines[:MAX_ENTRIES]]
    if not lines:
        said.append("[it is empty]")
    if len(lines) > MAX_ENTRIES:
        said.append(f"[{MAX_ENTRIES} of {len(lines)} entries: list a directory below, or use glob]")
    body = context.masked(sound("\n".join(said)))
    return ListDirectoryObservation(
        content=text(body), dir_path=path, total_count=len(lines), is_truncated=len(lines) > MAX_ENTRIES
    )


def _entries(path: str, prefix: str, files: Files, depth: int) -> Iterator[str]:
    found = files.names(path)
    for name, is_directory, is_link in sorted(found, key=lambda entry: (not entry[1], entry[0])):
        check_cancelled()
        link = " (a link)" if is_link else ""
        yield f"{prefix}{name}/{link}" if is_directory else f"{prefix}{name}{_size(f'{path}/{name}', files)}{link}"
        if is_directory and not is_link and depth > 1:
            try:
                yield from _entries(f"{path}/{name}", f"{prefix}{name}/", files, depth - 1)
            except ToolError:
                yield f"{prefix}{name}/ [cannot be read]"


def _size(path: str, files: Files) -> str:
    try:
        status = files.status(path)
    except ToolError:
        return ""
    return f" ({status.st_size:,} bytes)" if status is not None else ""


def _effects(action: ListDirectoryAction, workspace: WorkspaceSpec) -> Effects:
    return Effects(reads=() if "\0" in action.dir_path else (action.dir_path or workspace.path,))


list_directory = ToolType(
    name="list_directory",
    description="List the files and directories in a directory, with the sizes of files.",
    action=ListDirectoryAction,
    executor=ListDirectory,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=nothing_shared,
    effects=_effects,
    headline="{dir_path}",
    aliases=("list_dir", "list_files", "list_folder"),
)
