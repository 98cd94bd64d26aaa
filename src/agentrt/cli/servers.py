"""The MCP servers that a command is given as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from ..secrets import AnySecret, EnvironmentSecret
from ..sources.servers import Served, read_servers


def secrets_of(servers: Sequence[Served]) -> dict[str, AnySecret]:
    """The variables of the environment that MCP servers refer to, as secrets."""
    names = (name for served in servers for name in served.variables if name in os.environ)
    return {name: EnvironmentSecret(name) for name in names}


def _servers(file: str) -> Served:
    path = Path(file)
    try:
        return read_servers(path.read_text(), file)
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error


servers_option = click.option(
    "--mcp",
    "servers",
    multiple=True,
    metavar="FILE",
    is_eager=True,  # rules name tools that they bring
    callback=lambda context, option, given: tuple(map(_servers, given)),
    help='A file with MCP servers, as other programs have it: {"mcpServers": {"name": {...}}}. May be repeated.',
)
