"""Reads the MCP servers in a file, which has the form `{"mcpServers": {...}}`; for a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigurationError
from ..specs.given import converted
from ..specs.mcp import MCPServer, as_servers
from .text import Reader

SERVERS = ".mcp.json"
"""The usual name of such a file."""


def find_servers(path: Path, reader: Reader) -> dict[str, MCPServer]:
    """Return the servers in a file. If it cannot be used, note a problem and return none."""
    text = reader.read(path)
    if text is None:
        return {}
    try:
        return dict(read_servers(text, path.name).servers)
    except (ConfigurationError, RecursionError) as error:
        reader.tell(path, f"its servers are left out: {error}")
        return {}


def servers_in(given: object) -> tuple[str, ...]:
    """Return the names of MCP servers in front matter: in `{"mcpServers": {...}}`, a mapping, or a list."""
    if isinstance(given, dict):
        given = _inner(given)
    return tuple(map(str, given)) if isinstance(given, dict | list) else ()


def brought_in(given: object, where: str) -> dict[str, MCPServer]:
    """Return the servers in front matter or a manifest; none if any is only a name. Raises `ConfigurationError`."""
    inner = _inner(given) if isinstance(given, dict) else None
    return _servers(inner, where) if isinstance(inner, dict) and all(inner.values()) else {}


def _inner(given: dict[Any, Any]) -> Any:
    return given.get("mcpServers", given.get("mcp_servers", given))


class Served(msgspec.Struct, frozen=True):
    """The servers of a file."""

    servers: dict[str, MCPServer]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that they refer to."""
        return tuple(dict.fromkeys(name for server in self.servers.values() for name in server.variables))


def read_servers(text: str, where: str) -> Served:
    """Return the servers in a file's text, whichever program it was written for.

    Raises `ConfigurationError`.
    """
    try:
        given = msgspec.json.decode(text)
    except ValueError as error:
        raise ConfigurationError(f"{where} is not JSON: {error}") from error
    inner = given.get("mcpServers", given.get("servers")) if isinstance(given, dict) else None
    if not isinstance(inner, dict):
        raise ConfigurationError(f'{where} has no servers: expected {{"mcpServers": {{"name": {{...}}}}}}')
    return Served(_servers(inner, where))


def _servers(given: dict[str, Any], where: str) -> dict[str, MCPServer]:
    """Return servers by name. What a file says of `pinned` does not count: a pin is what a person reviewed."""
    written = {name: {**one, "pinned": ()} if isinstance(one, dict) else one for name, one in as_servers(given).items()}
    return {name: converted(one, MCPServer, where, name) for name, one in written.items()}
