"""The MCP servers that a file names, as `{"mcpServers": {...}}`; for a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from .text import Reader

SERVERS = ".mcp.json"
"""The usual name of that file."""


class _File(msgspec.Struct):
    servers: dict[str, Any] = msgspec.field(name="mcpServers", default_factory=dict)


def server_names(path: Path, reader: Reader) -> tuple[str, ...]:
    """The names of the servers in a file; none, and a problem, where it cannot be used."""
    text = reader.read(path)
    if text is None:
        return ()
    try:
        return tuple(msgspec.json.decode(text, type=_File).servers)
    except (ValueError, RecursionError) as error:
        reader.tell(path, f'is no list of MCP servers like {{"mcpServers": {{"name": {{...}}}}}}: {error}')
        return ()


def servers_in(given: object) -> tuple[str, ...]:
    """The names of MCP servers in front matter: of `{"mcpServers": {...}}`, of a mapping, or of a list."""
    if isinstance(given, dict):
        given = given.get("mcpServers", given.get("mcp_servers", given))
    return tuple(map(str, given)) if isinstance(given, dict | list) else ()
