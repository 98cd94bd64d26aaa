"""The tools to which skills restrict an agent until its run ends: the `allowed-tools` of the activated skills. Pure.

An entry is the name of a tool, of a part of one, or an alias; a pattern may follow in parentheses, as in
"Bash(git:*)". Source: https://agentskills.io/specification, and the permissions of Claude Code.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import msgspec

from ..events import ActionEvent
from ..specs import PermissionRule, ToolDefinition
from ..state import State
from .permissions import strongest

_ENTRY = re.compile(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", re.DOTALL)


def allowed(state: State, action: ActionEvent) -> bool:
    """Return whether the activated skills allow an action; a harmless one, or one that requests a skill or finishes, is
    always allowed.
    """
    tool = state.definition(action.tool_name)
    if not state.branch.allowed or tool.harmless or tool.ends_turn or tool.invokes:
        return True
    return all(any(_fits(entry, action, tool) for entry in entries) for entries in state.branch.allowed)


def invoked(action: ActionEvent, tool: ToolDefinition) -> str:
    """Return the skill that an action requests; its arguments were checked before."""
    return str(msgspec.json.decode(action.arguments_json, type=dict[str, object]).get(tool.invokes, ""))


def _fits(entry: str, action: ActionEvent, tool: ToolDefinition) -> bool:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return False
    name, pattern = _plain(found[1]), found[2]
    if name in map(_plain, (tool.name, *tool.aliases)):
        wanted: dict[str, str] = {}
    elif name in tool.parts:
        wanted = tool.parts[name]
    else:
        return False
    arguments = msgspec.json.decode(action.arguments_json, type=dict[str, object])
    if not all(fnmatchcase(str(arguments.get(key, "")), value) for key, value in wanted.items()):
        return False
    return pattern is None or pattern.strip() in ("", "*") or _matches(pattern.strip(), action, tool)


def _matches(pattern: str, action: ActionEvent, tool: ToolDefinition) -> bool:
    """Return whether the command, or else the argument of `Same`, fits a pattern; "git:*" is every "git ..."."""
    argument = tool.shell or (tool.same.argument if tool.same is not None else "")
    if not argument:
        return False
    begin = pattern.removesuffix(":*")
    patterns = (begin, f"{begin} *") if pattern.endswith(":*") else (pattern,)
    rules = [PermissionRule("allow", tool.name, each, argument) for each in patterns]
    return strongest(rules, action, tool) is not None


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()
