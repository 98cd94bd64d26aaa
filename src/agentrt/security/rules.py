"""Fixed rules that rate an action by its tool and arguments. Pure."""

from __future__ import annotations

from os.path import commonpath, normpath

import msgspec

from ..events import ActionEvent
from ..specs import LocalWorkspace, SecurityRisk
from .shell_rules import rate_command

_HARMLESS = frozenset({"think", "finish", "task_tracker"})


class _Path(msgspec.Struct):
    path: str
    command: str = ""


class _Command(msgspec.Struct):
    command: str


def rate_action(action: ActionEvent, workspace: LocalWorkspace) -> tuple[SecurityRisk, str]:
    """The rating of an action by its tool and arguments; a tool without rules is UNKNOWN.

    Raises `msgspec.ValidationError` when the arguments are not the tool's.
    """
    match action.tool_name:
        case "terminal":
            return rate_command(msgspec.json.decode(action.arguments, type=_Command).command)
        case "file_editor":
            edit = msgspec.json.decode(action.arguments, type=_Path)
            if not edit.path.startswith("/"):
                return SecurityRisk.LOW, "no absolute path: it will be refused"
            if edit.command == "view":
                return SecurityRisk.LOW, "only reads"
            root = normpath(workspace.path)
            if commonpath((root, normpath(edit.path))) == root:
                return SecurityRisk.LOW, "edits inside the workspace"
            return SecurityRisk.MEDIUM, "edits outside the workspace"
        case name if name in _HARMLESS:
            return SecurityRisk.LOW, "touches nothing"
        case _:
            return SecurityRisk.UNKNOWN, "no rule for this tool"
