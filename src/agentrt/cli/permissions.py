"""Parsing and printing of permission rules in the form that people write. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ..decisions.permissions import WHOLE
from ..specs import PermissionRule
from ..specs.rules import Verdict
from ..tools import BUILT_IN, ToolType

SHELL = next(name for name, kind in BUILT_IN.items() if kind.shell)
"""The tool that a pattern without a tool applies to."""

_TOOL = re.compile(r"[\w*?-]+")
_SAYS_SOMETHING = re.compile(r"\w|^[*?]+$")
_LITERAL = re.compile(r"\[([*?[])\]")


def rule_for(verdict: Verdict, tool: str, pattern: str = "*", own: Sequence[ToolType] = ()) -> PermissionRule:
    """Return the rule for a tool, or a shell-style pattern of tools, and a pattern for its arguments.

    The pattern applies to the argument that says what the tool does, if it has one; `own` are tools that are not built
    in.
    """
    kind = BUILT_IN.get(tool) or next((kind for kind in own if kind.name == tool), None)
    same = None if kind is None else kind.definition.same
    return PermissionRule(verdict, tool, pattern, "" if pattern == "*" or same is None else same.argument)


def rule_from(verdict: Verdict, written: str, own: Sequence[ToolType] = (), *, servers: bool = False) -> PermissionRule:
    """Return the rule of "TOOL:PATTERN", "TOOL", or a pattern for the terminal's command. Raises `ValueError`.

    With `servers`, unknown names are allowed: tools of MCP servers are not known yet.
    """
    names = [*BUILT_IN, *(kind.name for kind in own)]
    if written in names:
        return rule_for(verdict, written)
    if re.match(r":\S", written):
        raise ValueError(f"{written!r} names no tool before the colon: write one such as '{SHELL}{written}'")
    tool, colon, pattern = written.partition(":")
    if not colon or not _TOOL.fullmatch(tool):
        pattern, tool = written, SHELL
    if not pattern or not _SAYS_SOMETHING.search(pattern):
        raise ValueError(f"{written!r} has no pattern: write one such as 'git push*' or 'terminal:git push*'")
    if not colon and (near := get_close_matches(written, names, n=1, cutoff=0.8)):
        raise ValueError(f"unknown tool {written!r}: did you mean {near[0]!r}? For a command write '{SHELL}:{written}'")
    if not servers and not any(fnmatchcase(known, tool) for known in names):
        raise ValueError(f"unknown tool {tool!r} (known: {', '.join(names)}): for a command write 'terminal:{written}'")
    return rule_for(verdict, tool, pattern, own)


def rule_words(rule: PermissionRule) -> str:
    """Return a rule in words."""
    tool = "every tool" if rule.tool == "*" else _literally(rule.tool) or f"tools like {rule.tool}"
    if rule.pattern == "*":
        return f"{rule.verdict} {tool}"
    exact = _literally(rule.pattern)
    how = f'like "{rule.pattern}"' if exact is None else f'"{exact}"'
    if rule.argument == WHOLE and exact is not None:
        return f"{rule.verdict} {tool}, exactly {exact}"
    return f"{rule.verdict} {tool}, {rule.argument or 'any argument'} {how}"


def calls_like(rule: PermissionRule) -> str:
    """Return which calls a rule stands for that a permanent answer adds."""
    tool = _literally(rule.tool)
    if rule.argument == WHOLE:
        return f"exactly this call of {tool}"
    return f"every call of {tool}" + (f" with this {rule.argument}" if rule.argument else "")


def _literally(pattern: str) -> str | None:
    """Return the only text that a pattern matches, or None if it matches more than one."""
    parts = _LITERAL.split(pattern)
    if any(character in part for part in parts[::2] for character in "*?["):
        return None
    return "".join(parts)
