"""The MCP servers that a file names, as `{"mcpServers": {...}}`; for a thread."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigurationError
from ..sandboxes.environment import looks_secret
from ..specs.given import converted
from ..specs.mcp import MCPServer, as_servers
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


class Served(msgspec.Struct, frozen=True):
    """The servers of a file, and the secrets that stand in it, by the names that take their place."""

    servers: dict[str, MCPServer]
    secrets: dict[str, str]
    variables: tuple[str, ...]
    """The variables that the servers refer to, besides those secrets."""


def read_servers(text: str, where: str) -> Served:
    """The servers that a file names, whichever program it was written for; what we have no field for is left out.

    A value of `env` or `headers` that looks like a secret becomes one: the log has its name. Raises
    `ConfigurationError`.
    """
    try:
        given = msgspec.json.decode(text)
    except ValueError as error:
        raise ConfigurationError(f"{where} is no JSON: {error}") from error
    inner = given.get("mcpServers", given.get("servers")) if isinstance(given, dict) else None
    if not isinstance(inner, dict):
        raise ConfigurationError(f'{where} has no servers: expected {{"mcpServers": {{"name": {{...}}}}}}')
    secrets: dict[str, str] = {}
    servers: dict[str, MCPServer] = {}
    for name, one in as_servers(inner).items():
        if not isinstance(one, dict):
            raise ConfigurationError(f"{where}: the server {name!r} is no object")
        known = {key: value for key, value in one.items() if key in _FIELDS}
        for field in ("env", "headers"):
            if isinstance(values := known.get(field), dict):
                known[field] = {key: _hidden(name, key, value, secrets) for key, value in values.items()}
        try:
            servers[name] = converted(known, MCPServer, where, name)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from error
    variables = dict.fromkeys(variable for server in servers.values() for variable in server.variables)
    return Served(servers, secrets, tuple(variable for variable in variables if variable not in secrets))


_FIELDS = frozenset((*MCPServer.__struct_fields__, "type"))


def _hidden(server: str, name: str, value: object, secrets: dict[str, str]) -> object:
    """A value as the log may have it."""
    if not isinstance(value, str) or "${" in value or not (looks_secret(name, value) or _AUTHORIZES.search(name)):
        return value
    stands = re.sub(r"[^A-Z0-9_]", "_", f"MCP_{server}_{name}".upper())
    secrets[stands] = value
    return f"${{{stands}}}"


_AUTHORIZES = re.compile(r"auth|cookie|key|token", re.IGNORECASE)
"""Headers that say who asks."""
