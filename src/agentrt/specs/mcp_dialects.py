"""Reads an MCP server as other programs write it in their files: their names for our fields. Pure.

Sources: the documentation of the files of Claude Code, Cline, Codex, Gemini CLI, OpenCode, VS Code and Windsurf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FIELDS = {
    "environment": "env",
    "httpUrl": "url",
    "serverUrl": "url",
    "http_headers": "headers",
    "includeTools": "include",
    "enabledTools": "include",
    "enabled_tools": "include",
    "excludeTools": "exclude",
    "disabledTools": "exclude",
    "disabled_tools": "exclude",
}
"""Our name of a field, by the name that another program has for it."""

_TRANSPORTS = {"local": "stdio", "remote": "http"}

APPROVING = frozenset({"autoApprove", "alwaysAllow", "trust"})
"""Fields by which a file would approve calls of its own server."""


def as_written(given: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return a server with the names in `known`; `ignored` has the names of what is left out, in order."""
    made: dict[str, Any] = {name: value for name, value in given.items() if name in known}
    ignored = []
    for name, value in given.items():
        if name in known:
            continue
        if (ours := _FIELDS.get(name)) is not None and ours not in made:
            made[ours] = value
        elif name == "enabled" and isinstance(value, bool):
            made["disabled"] = bool(made.get("disabled")) or not value
        else:
            ignored.append(name)
    if isinstance(command := made.get("command"), list | tuple):
        made["command"], made["args"] = "".join(command[:1]), [*command[1:], *made.get("args", ())]
    if (kind := made.get("type")) in _TRANSPORTS:
        made["type"] = _TRANSPORTS[kind]
    return {**made, "ignored": tuple(ignored)} if ignored else made


def about_ignored(names: tuple[str, ...]) -> str:
    """Return the sentence about the fields of a server that are left out."""
    told = f"not used here: {', '.join(names)}"
    return f"{told}. Rules approve calls in advance, a server's file does not" if APPROVING & {*names} else told
