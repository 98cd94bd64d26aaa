"""Fixed rules that rate an action by its tool and arguments. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..events import ActionEvent
from .calls import Call
from .file_rules import rate_read, rate_write
from .injections import rate_text
from .own_rules import rate_requests
from .paths import Site, normal, site
from .rating import Rating, Scene
from .shell_text import ANY
from .verdicts import highest, low, unknown

_HARMLESS = frozenset({"think", "finish", "task_tracker", "delegate"})
"""Tools that touch nothing themselves; what is delegated is rated where it is done."""
_KEY = re.compile(r"(?i)C-[a-z]|UP|DOWN|RIGHT|LEFT|HOME|END|PGUP|PGDN|TAB|ESC|BS|ENTER|y|n|yes|no|q|\d{1,6}")


class _Edit(msgspec.Struct):
    path: str
    command: str = ""
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None


class _Command(msgspec.Struct):
    command: str
    is_input: bool = False


def rate_action(action: ActionEvent, scene: Scene) -> Rating:
    """The rating of an action by its tool and arguments; a tool without rules is UNKNOWN, whatever its arguments.

    Raises `msgspec.ValidationError` when the arguments are not the tool's.
    """
    where = site(scene.workspace.path, scene.directory, scene.own)
    match action.tool_name:
        case "terminal":
            return _terminal(msgspec.json.decode(action.arguments, type=_Command), where, scene.files)
        case "file_editor":
            return _editor(msgspec.json.decode(action.arguments, type=_Edit), where)
        case name:
            rating = low("touches nothing") if name in _HARMLESS else unknown("no rule for this tool")
            found = rate_text(bytes(action.arguments).decode("utf-8", "replace"), written=name in _HARMLESS)
            return highest((rating, found)) if found is not None else rating


def scripts(action: ActionEvent, scene: Scene) -> frozenset[str]:
    """The paths of what a command runs, and that `scene` has no text of."""
    if action.tool_name != "terminal":
        return frozenset()
    call = msgspec.json.decode(action.arguments, type=_Command)
    from .command_rules import files_run

    where = site(scene.workspace.path, scene.directory, scene.own)
    return frozenset() if call.is_input else files_run(call.command, where, scene.files)


def written(action: ActionEvent, scene: Scene) -> dict[str, str]:
    """The paths of what an action writes, with the text where it is known, else one that nobody can read."""
    match action.tool_name:
        case "terminal":
            call = msgspec.json.decode(action.arguments, type=_Command)
            if call.is_input:
                return {}
            from .command_rules import files_written

            return files_written(call.command, site(scene.workspace.path, scene.directory, scene.own))
        case "file_editor":
            edit = msgspec.json.decode(action.arguments, type=_Edit)
            if edit.command == "view" or not edit.path.startswith("/"):
                return {}
            return {normal(edit.path): ANY if edit.file_text is None else edit.file_text}
        case _:
            return {}


def _terminal(call: _Command, where: Site, files: Mapping[str, str]) -> Rating:
    text = call.command.strip()
    if not text:
        return low("waits")
    if call.is_input and _KEY.fullmatch(text):
        return low("presses a key")
    from .command_rules import rate_command, rate_input  # their patterns take 50 ms to compile: not at every start

    rating = rate_input(call.command, where) if call.is_input else rate_command(call.command, where, files)
    found = rate_text(call.command)
    asked = rate_requests(call.command, where) if call.is_input else ()
    return highest((rating, *asked, *((found,) if found is not None else ())))


def _editor(edit: _Edit, where: Site) -> Rating:
    if not edit.path.startswith("/"):
        return low("no absolute path: it will be refused")
    if "\0" in edit.path:
        return low("no path: it will be refused")
    call = Call("file_editor", (), where.workspace, where)
    if edit.command == "view":
        return highest(rate_read(call, edit.path), "only reads")
    texts = (rate_text(text, written=True) for text in (edit.file_text, edit.old_str, edit.new_str) if text)
    return highest((rate_write(call, edit.path), *(found for found in texts if found is not None)))
