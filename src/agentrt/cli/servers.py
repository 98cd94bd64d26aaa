"""MCP servers from files, and secrets from environment variables, as options of a command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from ..secrets import AnySecret, EnvironmentSecret
from ..sources.servers import Served, read_servers


def secrets_of(servers: Sequence[Served]) -> dict[str, AnySecret]:
    """Return the environment variables that MCP servers refer to, as secrets."""
    names = (name for served in servers for name in served.variables if name in os.environ)
    return {name: EnvironmentSecret(name) for name in names}


def given_secrets(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, EnvironmentSecret]:
    """Return the secrets of "NAME" and "NAME=VARIABLE". An error never repeats the argument: it may be a value."""
    secrets = {}
    for each in given:
        name, equals, variable = each.partition("=")
        variable = variable if equals else name
        if not os.environ.get(variable):
            why = f"the variable for {name} is not set" if equals else "no variable of that name is set"
            raise click.BadParameter(
                f"{why}. A secret's value is never given on the command line, where other programs and the shell's"
                " history see it: put it in an environment variable, and give the name of that.",
                context,
                parameter,
            )
        secrets[name] = EnvironmentSecret(variable)
    return secrets


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
    help='A file with MCP servers, in the usual form: {"mcpServers": {"name": {...}}}. May be repeated.',
)
