"""`file_editor`: view, create and edit text files."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...errors import ToolError
from ...protocols import ToolContext
from ...specs import Edits, OnCrash, Same, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects, FileText
from ..clipping import clip
from ..definition import Params, ToolType, file_key
from .documents import document_at
from .edits import Replaced, insert_after, replace_once, snippet
from .opened import FileEditorObservation, bytes_of, edited, opened, place, shown
from .text_file import TextFile, text_file
from .undoing import Edit, last_edit, taken_back
from .viewing import MAX_SHOWN, view


class FileEditorAction(msgspec.Struct, frozen=True):
    """Arguments of `file_editor`."""

    command: Annotated[
        Literal["view", "create", "str_replace", "insert", "undo_edit"], Meta(description="What to do with the file.")
    ]
    path: Annotated[
        str, Meta(description="The file, or with view a directory: an absolute path, or one from the workspace on.")
    ]
    file_text: Annotated[str | None, Meta(description="With create: the whole text of the new file.")] = None
    old_str: Annotated[
        str | None, Meta(description="With str_replace: the text to replace; must occur exactly once.")
    ] = None
    new_str: Annotated[str | None, Meta(description="With str_replace and insert: the new text.")] = None
    insert_line: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="With insert: the line after which new_str goes; 0 is the top."),
    ] = None
    view_range: Annotated[list[int] | None, Meta(description="With view: [first, last] line; last -1 is the end.")] = (
        None
    )


class FileEditor:
    """The executor. It undoes edits from the log, so it can undo an edit that was made before a restart."""

    def __init__(self, params: Params, name: str = "file_editor") -> None:
        self._name = name

    async def __call__(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        """Do one command. Raises `ToolError` with what to do instead."""
        path = place(action.path, context)
        if action.command == "undo_edit":
            return await self._take_back(path, context)
        if action.command == "view" and (found := await document_at(path, context)) is not None:
            return FileEditorObservation(content=(found,), path=path)
        return await anyio.to_thread.run_sync(_do, path, action, context)

    async def aclose(self) -> None: ...

    async def _take_back(self, path: str, context: ToolContext) -> FileEditorObservation:
        found = last_edit(await context.recollection.results(self._name), path)
        if found is None:
            raise ToolError(f"there is no edit of {path} with this tool to take back")
        return await anyio.to_thread.run_sync(_undo, path, *found, context)


def _do(path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
    match action.command:
        case "view":
            return FileEditorObservation(content=(view(path, action.view_range, context),), path=path)
        case "create":
            return _create(path, action, context)
        case _:
            return _edit(path, action, context)


def _create(path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
    if action.file_text is None:
        raise ToolError("create needs file_text")
    if context.files.status(path) is not None:
        raise ToolError(f"{path} exists already: edit it with str_replace, or choose another name")
    context.files.write(path, TextFile(action.file_text).stored(path))
    return edited(path, None, shown(action.file_text, context), f"Created {path}.")


def _edit(path: str, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
    if action.new_str is None and action.command == "insert":
        raise ToolError("insert needs new_str")
    old = opened(path, context)
    new_str = old.typed(action.new_str or "")
    if action.command == "str_replace":
        if action.old_str is None:
            raise ToolError("str_replace needs old_str")
        done = replace_once(old.text, old.typed(action.old_str), new_str, path)
    else:
        if action.insert_line is None:
            raise ToolError("insert needs insert_line")
        done = Replaced(insert_after(old.text, action.insert_line, new_str), action.insert_line + 1)
    context.files.write(path, replace(old, text=done.text).stored(path))
    before, after = shown(old.text, context), shown(done.text, context)
    around = clip(snippet(after, done.line, new_str.count("\n") + 1), MAX_SHOWN)
    return edited(path, before, after, f"Edited {path}.{done.note} Around the change:\n{around}", was=old)


def _undo(path: str, seq: int, edit: Edit, context: ToolContext) -> FileEditorObservation:
    now = text_file(path, bytes_of(path, context), edit.encoding or None, edit.newline or None)
    seen = shown(now.text, context)
    if not edit.prev_exist:
        if seen != edit.new_content:
            raise ToolError(f"{path} has changed since it was created: remove it with the terminal if that is meant")
        context.files.remove(path)
        return edited(path, seen, "", f"Took back the creation of {path}: it is gone.", seq)
    text = taken_back(now.text, seen, edit, path)
    context.files.write(path, replace(now, text=text).stored(path))
    others = "" if seen == edit.new_content else " What has changed elsewhere in it since then stays."
    return edited(path, seen, shown(text, context), f"Took back the last edit of {path}.{others}", seq)


def _touches(action: FileEditorAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(action.path, workspace),)


def _effects(action: FileEditorAction, workspace: WorkspaceSpec) -> Effects:
    if not action.path or "\0" in action.path:
        return Effects()  # it will be refused
    if action.command == "view":
        return Effects(reads=(action.path,))
    shown = () if action.command == "create" else (action.path,)  # the result shows lines around the change
    return Effects(reads=shown, writes=(FileText(action.path, action.file_text),))


_ALIASES = (
    "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
    "edit_file", "editor", "edit", "text_editor",
)  # fmt: skip

file_editor = ToolType(
    name="file_editor",
    description=(
        "View, create and edit text files. `view` shows a file with line numbers, a directory two"
        " levels deep; `create` makes a new file; `str_replace` replaces a text that occurs exactly once; `insert`"
        " adds lines after a line; `undo_edit` takes the last edit of a file back. A view of more than 16000"
        " characters is cut, and says which range comes next."
    ),
    action=FileEditorAction,
    executor=FileEditor,
    annotations=ToolAnnotations(title="File editor", open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
    effects=_effects,
    same=Same("path", {"command": "view"}),
    headline="{command} {path}",
    edits=Edits(("old_str",), ("new_str", "file_text")),
    aliases=_ALIASES,
    parts={
        "read": {"command": "view"},
        "write": {"command": "create"},
        "edit": {"command": "[!v]*"},
        "multiedit": {"command": "[!v]*"},
    },
)
