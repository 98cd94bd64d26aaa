"""`agentrt mcp`: the MCP servers of files: which there are, and whether they answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import ConfigurationError
from ..mcp.connection import Standing, connected
from ..sources.servers import Served
from ..specs.mcp import MCPServer, expanded
from .listing import PIPED
from .servers import servers_option
from .wording import clean, count


@click.group()
def mcp() -> None:
    """Look at MCP servers before an agent uses them: those of a file {"mcpServers": {...}}.

    \b
    agentrt mcp list --mcp .mcp.json           which servers there are, and what they need
    agentrt mcp test --mcp .mcp.json           whether they answer, and with which tools
    agentrt mcp test --mcp .mcp.json tracker   one of them
    """


@mcp.command(name="list")
@servers_option
def list_(servers: tuple[Served, ...]) -> None:
    """Show the servers, and the variables that they need. Nothing is started."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("name", "way", "where", "needs"):
        table.add_column(column, overflow="fold")
    for name, server in _named(servers).items():
        missing = [variable for variable in _required(server) if variable not in os.environ]
        needs = Text(", ".join(server.variables) + (f" (not set: {', '.join(missing)})" if missing else ""))
        table.add_row(name, "disabled" if server.disabled else server.way, Text(clean(server.where)), needs)
    _console().print(table)


@mcp.command(name="test")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@servers_option
def test_(names: tuple[str, ...], servers: tuple[Served, ...]) -> None:
    """Connect to the servers, or to those with a NAME, and show their tools. Exit code 1 where one does not answer."""
    found = _named(servers)
    if unknown := [name for name in names if name not in found]:
        raise click.UsageError(f"there is no server {unknown[0]!r}; there are: {', '.join(found)}")
    wanted = {name: found[name] for name in names or [n for n, server in found.items() if not server.disabled]}
    console, failed = _console(), False
    for name, standing in anyio.run(_tried, wanted).items():
        failed |= bool(standing.problem)
        _show(console, name, standing)
    sys.exit(1 if failed else 0)


def _named(servers: Sequence[Served]) -> dict[str, MCPServer]:
    found = {name: server for served in servers for name, server in served.servers.items()}
    if not found:
        raise click.UsageError("no servers were given: name a file of them with --mcp FILE")
    return found


def _required(server: MCPServer) -> list[str]:
    """The variables without which it cannot be reached."""
    try:
        expanded(server, lambda name: None)
    except ConfigurationError as error:
        return [name for name in server.variables if name in str(error)]
    return []


async def _tried(servers: dict[str, MCPServer]) -> dict[str, Standing]:
    """How each stands after it was connected to, all at the same time."""
    found: dict[str, Standing] = {}

    async def attempt(name: str, server: MCPServer) -> None:
        try:
            async with connected(name, expanded(server, os.environ.get)) as connection:
                found[name] = await connection.ready()
        except ConfigurationError as error:
            found[name] = Standing(problem=str(error))

    async with anyio.create_task_group() as tasks:
        for name, server in servers.items():
            tasks.start_soon(attempt, name, server)
    return {name: found[name] for name in servers}


def _show(console: Console, name: str, standing: Standing) -> None:
    if standing.problem:
        console.print(Text(f"✗ {name}: {clean(standing.problem)}", "bold red"), soft_wrap=True)
        return
    console.print(Text(f"✓ {name}: {count(len(standing.tools), 'tool')}, protocol {standing.protocol}", "green"))
    for tool in standing.tools:
        words = (tool.description or "").strip().partition("\n")[0]
        console.print(Text(f"    {clean(tool.name)}  ") + Text(clean(words)[:100], "dim"), soft_wrap=True)


def _console() -> Console:
    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=PIPED)
