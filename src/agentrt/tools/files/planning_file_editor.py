"""`planning_file_editor`: views any file, and edits only the plan."""

from __future__ import annotations

from posixpath import normpath

import anyio.to_thread
from msgspec.structs import replace

from ...errors import ToolError
from ...protocols import ToolContext
from ...specs import Edits, OnCrash, Same, ToolAnnotations, WorkspaceSpec
from ...specs.effects import Effects, FileText
from ..definition import Params, ToolType, file_key
from .file_editor import FileEditor, FileEditorAction
from .links import refuse_links
from .opened import FileEditorObservation
from .text_file import TextFile

PLAN = ".agents_tmp/PLAN.md"
"""The path of the plan, relative to the workspace."""

SECTIONS = (
    "OBJECTIVE", "CONTEXT SUMMARY", "APPROACH OVERVIEW", "IMPLEMENTATION STEPS", "TESTING AND VALIDATION",
)  # fmt: skip
HEADINGS = "\n".join(f"# {number}. {title}\n" for number, title in enumerate(SECTIONS, 1))
"""The initial text of the plan."""


class PlanningFileEditor:
    """The executor: a `FileEditor` that changes only the plan, which starts with headings."""

    def __init__(self, params: Params) -> None:
        self._editor = FileEditor(params, "planning_file_editor")

    async def __call__(self, action: FileEditorAction, context: ToolContext) -> FileEditorObservation:
        """Do one command. Raises `ToolError` for an edit of another file."""
        plan, path = _plan(context.workspace), _path(action, context.workspace)
        if action.command != "view" and path != plan:
            raise ToolError(f"only the plan can be changed, {plan}: every other file can be viewed")
        if path == plan:
            await anyio.to_thread.run_sync(_begun, plan, action.command == "create", context)
        return await self._editor(replace(action, path=path), context)

    async def aclose(self) -> None:
        """Close the editor."""
        await self._editor.aclose()


def _begun(plan: str, anew: bool, context: ToolContext) -> None:
    """Write the headings if there is no plan. With `anew`, remove a plan that has only its headings, so that it can be
    created.

    Raises `ToolError` if a component of the plan's path is a symbolic link, even a dangling one.
    """
    refuse_links(PLAN, context)
    there = context.files.status(plan) is not None
    if not there and not anew:
        context.files.write(plan, TextFile(HEADINGS).stored(plan))
    elif there and anew and context.files.read(plan) == HEADINGS.encode():
        context.files.remove(plan)


def _plan(workspace: WorkspaceSpec) -> str:
    return normpath(f"{workspace.path}/{PLAN}")


def _path(action: FileEditorAction, workspace: WorkspaceSpec) -> str:
    return normpath(action.path if action.path.startswith("/") else f"{workspace.path}/{action.path}")


def _touches(action: FileEditorAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return (file_key(_path(action, workspace), workspace),)


def _effects(action: FileEditorAction, workspace: WorkspaceSpec) -> Effects:
    if "\0" in action.path:
        return Effects()
    plan = _plan(workspace)
    if action.command == "view":
        path = _path(action, workspace)
        return Effects(reads=(path,), writes=(FileText(plan),) if path == plan else ())
    return Effects(writes=(FileText(plan, action.file_text),)) if _path(action, workspace) == plan else Effects()


planning_file_editor = ToolType(
    name="planning_file_editor",
    description=(
        f"View any file, and write the plan: {PLAN} in the workspace, the only file that can be changed. It has the"
        f" headings {', '.join(SECTIONS)}; fill in what stands below them. `view` shows a file with line numbers, or a"
        " directory; `str_replace` replaces a text that occurs exactly once; `insert` adds lines after a line;"
        " `undo_edit` takes the last edit back; `create` writes the whole plan at once, while it has only its headings."
    ),
    action=FileEditorAction,
    executor=PlanningFileEditor,
    annotations=ToolAnnotations(title="Plan editor", destructive=False, open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
    effects=_effects,
    same=Same("path", {"command": "view"}),
    headline="{command} {path}",
    edits=Edits(("old_str",), ("new_str", "file_text")),
    aliases=("plan_editor",),
    parts={"read": {"command": "view"}},
)
