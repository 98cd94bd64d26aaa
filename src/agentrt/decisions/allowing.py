"""The tools that activated skills approve in advance (`allowed-tools`) and forbid (`disallowed-tools`) until the run
ends. Pure.

An entry is the name of a tool, of a part of one, or an alias; a pattern may follow in parentheses, as in
"Bash(git:*)". Source: https://agentskills.io/specification, and the permissions of Claude Code.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import msgspec

from ..events import ActionEvent
from ..specs import PermissionRule, ToolDefinition
from ..specs.rules import Verdict
from ..state import State
from .permissions import strongest

_ENTRY = re.compile(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", re.DOTALL)


def allowed(state: State, action: ActionEvent) -> bool:
    """Return whether no activated skill forbids an action; a harmless one, or one that requests a skill or finishes, is
    always allowed.
    """
    here = state.branch
    if not (here.allowed or here.disallowed):
        return True
    tool = state.definition(action.tool_name)
    if tool.harmless or tool.ends_turn or tool.invokes:
        return True
    if any(_fits(entry, action, tool, "deny") for entry in here.disallowed):
        return False
    return all(any(_fits(entry, action, tool) for entry in entries) for entries in here.allowed)


def granted(state: State, action: ActionEvent) -> PermissionRule | None:
    """Return the rule by which an activated skill approves an action in advance; None if none does."""
    if not state.branch.approved:
        return None
    tool = state.definition(action.tool_name)
    if any(_fits(entry, action, tool) for entry in state.branch.approved):
        return PermissionRule("allow", tool.name)
    return None


def invoked(action: ActionEvent, tool: ToolDefinition) -> str:
    """Return the skill that an action requests; its arguments were checked before."""
    return str(msgspec.json.decode(action.arguments_json, type=dict[str, object]).get(tool.invokes, ""))


def split_entry(entry: str) -> tuple[str, str | None]:
    """Return the name in an entry as `Bash(git:*)`, in lower case with "_" for "-", and its pattern, if any."""
    found = _ENTRY.fullmatch(entry)
    return ("", None) if found is None else (_plain(found[1]), found[2])


def _fits(entry: str, action: ActionEvent, tool: ToolDefinition, verdict: Verdict = "allow") -> bool:
    """Return whether an action is one of an entry: all of it, or with "deny" a part of it."""
    name, pattern = split_entry(entry)
    if name != _plain(tool.name) and name in tool.parts:
        wanted = tool.parts[name]
    elif name in map(_plain, (tool.name, *tool.aliases)):
        wanted = {}
    else:
        return False
    arguments = msgspec.json.decode(action.arguments_json, type=dict[str, object])
    if not all(fnmatchcase(str(arguments.get(key, "")), value) for key, value in wanted.items()):
        return False
    return pattern is None or pattern.strip() in ("", "*") or _matches(pattern.strip(), action, tool, verdict)


def _matches(pattern: str, action: ActionEvent, tool: ToolDefinition, verdict: Verdict) -> bool:
    """Return whether the command, or else the argument of `Same`, fits a pattern; "git:*" is every "git ..."."""
    argument = argument_of(tool)
    if not argument:
        return False
    rules = [PermissionRule(verdict, tool.name, each, argument) for each in rule_patterns(pattern)]
    return strongest(rules, action, tool) is not None


def argument_of(tool: ToolDefinition) -> str:
    """Return the argument that the pattern of an entry is about; "" if there is none."""
    return tool.shell or (tool.same.argument if tool.same is not None else "")


def rule_patterns(pattern: str) -> tuple[str, ...]:
    """Return the patterns of rules that the pattern of an entry stands for: two for `git:*`."""
    begin = pattern.removesuffix(":*")
    return (begin, f"{begin} *") if pattern.endswith(":*") else (pattern,)


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()
