"""`edit`: replaces a text in a file, for models that know Gemini's tools."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...errors import ToolError
from ...protocols import ToolContext
from ...specs import Edits, OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects, FileText
from ..clipping import clip
from ..definition import Params, ToolType, file_key
from .edits import Replaced, replace_once, snippet
from .opened import FileEditorObservation, edited, opened, place, shown
from .text_file import TextFile
from .viewing import MAX_SHOWN


class EditAction(msgspec.Struct, frozen=True):
    """Arguments of `edit`."""

    file_path: Annotated[str, Meta(description="The file: an absolute path, or one from the workspace on.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it is; empty to create a new file.")]
    new_string: Annotated[str, Meta(description="The text in its place.")]
    expected_replacements: Annotated[int, Meta(ge=1, description="How often the text occurs; all are replaced.")] = 1


class Edit:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: EditAction, context: ToolContext) -> FileEditorObservation:
        """Edit the file. Raises `ToolError` with what to do instead."""
        return await anyio.to_thread.run_sync(_edit, action, context)

    async def aclose(self) -> None: ...


def _edit(action: EditAction, context: ToolContext) -> FileEditorObservation:
    path = place(action.file_path, context)
    if not action.old_string:
        if context.files.status(path) is not None:
            raise ToolError(f"{path} exists already: give the text to replace as old_string, or use write_file")
        context.files.write(path, TextFile(action.new_string).stored(path))
        return edited(path, None, shown(action.new_string, context), f"Created {path}.")
    old = opened(path, context)
    new = old.typed(action.new_string)
    done = _replaced(old.text, old.typed(action.old_string), new, action.expected_replacements, path)
    context.files.write(path, replace(old, text=done.text).stored(path))
    before, after = shown(old.text, context), shown(done.text, context)
    around = clip(snippet(after, done.line, new.count("\n") + 1), MAX_SHOWN)
    return edited(path, before, after, f"Edited {path}.{done.note} Around the first change:\n{around}")


def _replaced(text: str, old: str, new: str, times: int, path: str) -> Replaced:
    if times == 1:
        return replace_once(text, old, new, path, named=("old_string", "new_string"))
    found = text.count(old)
    if found != times:
        raise ToolError(f"old_string occurs {found} times in {path}, not {times}: nothing was replaced")
    return Replaced(text.replace(old, new), text.count("\n", 0, text.find(old)) + 1)


def _touches(action: EditAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(action.file_path, workspace),)


def _effects(action: EditAction, workspace: WorkspaceSpec) -> Effects:
    if "\0" in action.file_path:
        return Effects()
    created = None if action.old_string else action.new_string
    return Effects(reads=(action.file_path,), writes=(FileText(action.file_path, created),))


edit = ToolType(
    name="edit",
    description=(
        "Replace a text in a file. It must occur exactly once, or as often as expected_replacements says; white space"
        " counts. With an empty old_string a new file is made."
    ),
    action=EditAction,
    executor=Edit,
    annotations=ToolAnnotations(title="Edit a file", open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
    effects=_effects,
    same="file_path",
    headline="{file_path}",
    edits=Edits(("old_string",), ("new_string",)),
    aliases=("replace", "str_replace", "edit_file", "search_replace"),
    parts={"edit": {}, "multiedit": {}},
)
