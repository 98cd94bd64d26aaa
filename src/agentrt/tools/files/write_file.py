"""`write_file`: writes the whole text of a file, for models that know Gemini's tools."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...protocols import ToolContext
from ...specs import Edits, OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects, FileText
from ..definition import Params, ToolType, file_key
from .opened import FileEditorObservation, edited, opened, place, shown
from .text_file import TextFile


class WriteFileAction(msgspec.Struct, frozen=True):
    """Arguments of `write_file`."""

    file_path: Annotated[str, Meta(description="The file: an absolute path, or one from the workspace on.")]
    content: Annotated[str, Meta(description="The whole text that the file is to have.")]


class WriteFile:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: WriteFileAction, context: ToolContext) -> FileEditorObservation:
        """Write the file; an existing one keeps its encoding and line ends. Raises `ToolError`."""
        return await anyio.to_thread.run_sync(_write, action, context)

    async def aclose(self) -> None: ...


def _write(action: WriteFileAction, context: ToolContext) -> FileEditorObservation:
    path = place(action.file_path, context)
    old = None if context.files.status(path) is None else opened(path, context)
    new = TextFile(action.content) if old is None else replace(old, text=old.typed(action.content))
    context.files.write(path, new.stored(path))
    before = None if old is None else shown(old.text, context)
    return edited(path, before, shown(new.text, context), f"{'Created' if old is None else 'Wrote'} {path}.")


def _touches(action: WriteFileAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(action.file_path, workspace),)


def _effects(action: WriteFileAction, workspace: WorkspaceSpec) -> Effects:
    return Effects(writes=() if "\0" in action.file_path else (FileText(action.file_path, action.content),))


write_file = ToolType(
    name="write_file",
    description="Write a text file: a new one, or the whole of one that is there. To change a part of it use edit.",
    action=WriteFileAction,
    executor=WriteFile,
    annotations=ToolAnnotations(title="Write a file", idempotent=True, open_world=False),
    on_crash=OnCrash.RETRY,
    resources=_touches,
    effects=_effects,
    same="file_path",
    headline="{file_path}",
    edits=Edits(adds=("content",)),
    aliases=("write", "create_file", "save_file"),
    parts={"write": {}},
)
