"""Permission rules as a person writes and reads them. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from ..specs import DEFAULT_TOOLS, PermissionRule
from ..specs.rules import Verdict
from ..specs.tool import ALWAYS
from ..tools import BUILT_IN

ARGUMENTS = {tool.name: tool.definition.same.argument for tool in BUILT_IN if tool.definition.same is not None}
"""The argument that a pattern is for, where a tool has one that says what it does."""

TOOLS = (*(tool.name for tool in DEFAULT_TOOLS), *ALWAYS)
"""The tools of an agent that is begun here."""

SHELL = next(tool.name for tool in BUILT_IN if tool.shell)
"""The tool that a pattern without a tool is for."""

_TOOL = re.compile(r"[\w*?-]+")
_LITERAL = re.compile(r"\[([*?[])\]")


def rule_for(verdict: Verdict, tool: str, pattern: str = "*") -> PermissionRule:
    """The rule for a tool, or a shell-style pattern of tools, and a pattern for what it is called with."""
    return PermissionRule(verdict, tool, pattern, "" if pattern == "*" else ARGUMENTS.get(tool, ""))


def rule_from(verdict: Verdict, written: str) -> PermissionRule:
    """The rule of "TOOL:PATTERN", "TOOL", or a pattern for the terminal's command. Raises `ValueError`."""
    if written in TOOLS:
        return rule_for(verdict, written)
    tool, colon, pattern = written.partition(":")
    if not colon or not _TOOL.fullmatch(tool):
        pattern, tool = written, SHELL
    if not pattern:
        raise ValueError(f"{written!r} has no pattern: write one such as 'git push*' or 'terminal:git push*'")
    if not any(fnmatchcase(known, tool) for known in TOOLS):
        raise ValueError(
            f"there is no tool {tool!r} (there are {', '.join(TOOLS)}): for a command write 'terminal:{written}'"
        )
    return rule_for(verdict, tool, pattern)


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
