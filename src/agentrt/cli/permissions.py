"""Permission rules as a person writes and reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from ..specs import PermissionRule
from ..specs.rules import Verdict
from ..tools import BUILT_IN, ToolType

SHELL = next(tool.name for tool in BUILT_IN if tool.shell)
"""The tool that a pattern without a tool is for."""

_TOOL = re.compile(r"[\w*?-]+")
_LITERAL = re.compile(r"\[([*?[])\]")


def rule_for(verdict: Verdict, tool: str, pattern: str = "*", own: Sequence[ToolType] = ()) -> PermissionRule:
    """The rule for a tool, or a shell-style pattern of tools, and a pattern for what it is called with.

    The pattern is for the argument that says what the tool does, where it has one; `own` are not built in.
    """
    same = next((kind.definition.same for kind in (*BUILT_IN, *own) if kind.name == tool), None)
    return PermissionRule(verdict, tool, pattern, "" if pattern == "*" or same is None else same.argument)


def rule_from(verdict: Verdict, written: str, own: Sequence[ToolType] = (), *, servers: bool = False) -> PermissionRule:
    """The rule of "TOOL:PATTERN", "TOOL", or a pattern for the terminal's command. Raises `ValueError`.

    With `servers` there may be tools of MCP servers, whose names are not known yet.
    """
    names = [kind.name for kind in (*BUILT_IN, *own)]
    if written in names:
        return rule_for(verdict, written)
    tool, colon, pattern = written.partition(":")
    if not colon or not _TOOL.fullmatch(tool):
        pattern, tool = written, SHELL
    if not pattern:
        raise ValueError(f"{written!r} has no pattern: write one such as 'git push*' or 'terminal:git push*'")
    if not servers and not any(fnmatchcase(known, tool) for known in names):
        raise ValueError(
            f"there is no tool {tool!r} (there are {', '.join(names)}): for a command write 'terminal:{written}'"
        )
    return rule_for(verdict, tool, pattern, own)


def rule_words(rule: PermissionRule) -> str:
    """A rule in words."""
    tool = "every tool" if rule.tool == "*" else _literally(rule.tool) or f"tools like {rule.tool}"
    if rule.pattern == "*":
        return f"{rule.verdict} {tool}"
    exact = _literally(rule.pattern)
    how = f'like "{rule.pattern}"' if exact is None else f'"{exact}"'
    return f"{rule.verdict} {tool}, {rule.argument or 'any argument'} {how}"


def _literally(pattern: str) -> str | None:
    """The one text that a pattern matches, None where there are more."""
    parts = _LITERAL.split(pattern)
    if any(character in part for part in parts[::2] for character in "*?["):
        return None
    return "".join(parts)
