"""A project's `.claude/settings.json`: its hooks, and its permissions as rules. A person may agree to them.

Source: https://code.claude.com/docs/en/settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args

import msgspec

from ..decisions.allowing import argument_of, rule_patterns, split_entry
from ..specs import PermissionRule, ToolDefinition
from ..specs.rules import Verdict
from .text import Reader

FILE = ".claude/settings.json"


class Settings(msgspec.Struct, frozen=True):
    """What a project's settings say."""

    permissions: dict[str, object] = {}
    hooks: dict[str, object] = {}

    @property
    def entries(self) -> tuple[tuple[Verdict, str], ...]:
        """The entries of the permissions, each with its verdict."""
        lists = [(verdict, self.permissions.get(verdict)) for verdict in get_args(Verdict)]
        entries = ((verdict, one) for verdict, found in lists if isinstance(found, list) for one in found)
        return tuple((verdict, one) for verdict, one in entries if isinstance(one, str))


def find_settings(root: Path, reader: Reader) -> Settings:
    """Return the settings below a root; empty if there are none. Problems are noted by the reader."""
    if ".claude" not in reader.listing(root).names or (text := reader.read(root / FILE)) is None:
        return Settings()
    try:
        return msgspec.json.decode(text, type=Settings)
    except (ValueError, RecursionError) as error:
        reader.tell(root / FILE, f"it cannot be used: {error}")
        return Settings()


def rules_of(
    entries: Iterable[tuple[Verdict, str]], tools: Mapping[str, ToolDefinition], root: str
) -> tuple[tuple[PermissionRule, ...], tuple[str, ...]]:
    """Return the rules that entries mean, and the entries that no rule can say. Looking at `tools` may import them."""
    rules: dict[PermissionRule, None] = {}
    missing: list[str] = []
    for verdict, entry in entries:
        made = list(_rules(verdict, entry, tools.values(), root))
        rules |= dict.fromkeys(made)
        if not made:
            missing.append(f"{verdict} {entry}")
    return tuple(rules), tuple(missing)


def _rules(verdict: Verdict, entry: str, tools: Iterable[ToolDefinition], root: str) -> Iterator[PermissionRule]:
    name, pattern = split_entry(entry)
    pattern = (pattern or "*").strip()
    for tool in tools:
        part = tool.parts.get(name) if name != tool.name else None
        if part is None and name not in (tool.name, *tool.aliases):
            continue
        if part and (verdict == "allow" or pattern == "*"):
            continue  # a rule is about all calls of a tool, or those with an argument: it cannot tell parts of a tool
        argument = argument_of(tool)
        if pattern == "*":
            yield PermissionRule(verdict, tool.name)
        elif argument:
            for each in _patterns(pattern, tool, root):
                yield PermissionRule(verdict, tool.name, each, argument)


def _patterns(pattern: str, tool: ToolDefinition, root: str) -> tuple[str, ...]:
    """Return the patterns for an argument: of a command, an address, or a path."""
    if tool.shell:
        return rule_patterns(pattern)
    if pattern.startswith("domain:"):
        host = pattern.removeprefix("domain:")
        return tuple(f"{scheme}://{host}{end}" for scheme in ("https", "http") for end in ("", "/*"))
    path = pattern.replace("**", "*")
    if path.startswith("//"):
        return (path[1:],)
    if path.startswith("~"):
        return (path,)
    plain = path.removeprefix("./").lstrip("/")
    return (plain, f"{root}/{plain}")
