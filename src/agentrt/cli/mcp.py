"""`agentrt mcp`: an MCP server for other agents, and the list and the test of MCP servers in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..decisions.agents import with_tools
from ..errors import ConfigurationError, ToolError
from ..mcp.connection import Standing, connected
from ..mcp.login import Person, log_in
from ..mcp.loopback import loopback
from ..mcp.naming import offered
from ..mcp.tokens import Tokens
from ..runtime import Runtime
from ..sources.servers import Served
from ..specs.credentials import OAuth
from ..specs.mcp import MCPServer, expanded
from ..specs.mcp_dialects import about_ignored
from ..storage import default_store
from .listing import PIPED
from .options import agent_of, agent_options, store_option
from .own_tools import offered_tools, own_tools, tools_option
from .serve import NO_EXTRA, workspaces_option
from .servers import servers_option
from .whose_tokens import Whose, tokens_options
from .wording import clean, count

if TYPE_CHECKING:
    from ..server import ServerSettings


@click.group(invoke_without_command=True)
@click.pass_context
def mcp(context: click.Context) -> None:
    """Be an MCP server for other agents, or check the MCP servers that an agent is to use.

    Without a command it serves on standard input and output, as `agentrt mcp serve` does.

    \b
    agentrt mcp serve --workspaces ~/projects  offer conversations as tools to another agent
    agentrt mcp list --mcp .mcp.json           list the servers, and what they need
    agentrt mcp test --mcp .mcp.json           test whether they answer, and list their tools
    agentrt mcp test --mcp .mcp.json tracker   test one of them
    agentrt mcp login tracker --mcp .mcp.json  log in to a server that requires it, in a browser
    """
    if context.invoked_subcommand is None:
        with serve_.make_context("serve", [], parent=context) as serving:
            serve_.invoke(serving)


@mcp.command(name="serve")
@workspaces_option
@store_option
@agent_options
@tools_option
def serve_(store: str | None, workspaces: tuple[Path, ...], own: tuple[str, ...], **rest: Any) -> None:
    """Be an MCP server on standard input and output, which offers conversations as tools to another agent.

    The options below, which are those of `agentrt run`, define the agent that works in them. Questions are passed to
    the client if it can ask its user. Otherwise answer them with `agentrt resume` after the server has ended.

    \b
    {"mcpServers": {"agentrt": {"command": "agentrt", "args": ["mcp", "serve", "--workspaces", "."]}}}
    """
    try:
        from ..server import ServerSettings  # heavy, and an extra
    except ImportError as error:
        raise ConfigurationError(NO_EXTRA) from error
    tools = own_tools(own)
    agent = with_tools(agent_of(store=store, **rest), [kind.name for kind in tools])
    settings = ServerSettings(workspaces=workspaces or (Path.cwd(),), agent=agent)
    runtime = Runtime(store or default_store(), tools=(*offered_tools(), *tools), home=Path.home())
    if sys.stdin.isatty():
        click.echo("An MCP client speaks with this on standard input; Ctrl-C ends it.", err=True)
    anyio.run(_speak, runtime, settings)


async def _speak(runtime: Runtime, settings: ServerSettings) -> None:
    from ..server.hosting import Hosting
    from ..server.mcp.serving import speak
    from ..server.principals import EVERYONE

    async with runtime, Hosting(runtime, settings) as hosting:
        await speak(hosting, EVERYONE)


@mcp.command(name="list")
@servers_option
def list_(servers: tuple[Served, ...]) -> None:
    """List the servers, and the variables that they need. Nothing is started."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("name", "way", "where", "needs"):
        table.add_column(column, overflow="fold")
    found = _named(servers)
    for name, server in found.items():
        missing = [variable for variable in _required(server) if variable not in os.environ]
        needs = Text(", ".join(server.variables) + (f" (not set: {', '.join(missing)})" if missing else ""))
        table.add_row(name, "disabled" if server.disabled else server.way, Text(clean(server.where)), needs)
    _console().print(table)
    for name, server in found.items():
        if server.ignored:
            click.echo(f"! {name} has fields that are {about_ignored(server.ignored)}", err=True)


@mcp.command(name="test")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@servers_option
@tokens_options
def test_(names: tuple[str, ...], servers: tuple[Served, ...], whose: Whose) -> None:
    """Connect to the servers, or to each NAME, and show their tools. The exit code is 1 if one does not answer."""
    found = _named(servers)
    if unknown := [name for name in names if name not in found]:
        raise click.UsageError(f"unknown server {unknown[0]!r}; known: {', '.join(found)}")
    wanted = {name: found[name] for name in names or [n for n, server in found.items() if not server.disabled]}
    console, failed = _console(), False
    for name, standing in anyio.run(_tried, wanted, whose).items():
        failed |= bool(standing.problem)
        _show(console, name, standing, found[name])
    if not wanted:
        console.print("All servers of the file are disabled: name one to try it.")
    sys.exit(1 if failed else 0)


def _named(servers: Sequence[Served]) -> dict[str, MCPServer]:
    found = {name: server for served in servers for name, server in served.servers.items()}
    if not found:
        raise click.UsageError("no servers were given: name a file of them with --mcp FILE")
    return found


def _required(server: MCPServer) -> list[str]:
    """Return the variables that are required to reach a server."""
    try:
        expanded(server, lambda name: None)
    except ConfigurationError as error:
        return [name for name in server.variables if name in str(error)]
    return []


async def _tried(servers: dict[str, MCPServer], whose: Whose) -> dict[str, Standing]:
    """Connect to all servers at the same time, and return the status of each."""
    found: dict[str, Standing] = {}

    async def attempt(name: str, server: MCPServer, tokens: Tokens) -> None:
        try:
            async with connected(name, expanded(server, os.environ.get), tokens=tokens) as connection:
                found[name] = await connection.ready()
        except ConfigurationError as error:
            found[name] = Standing(problem=str(error))

    async with whose.tokens() as tokens, anyio.create_task_group() as trying:
        for name, server in servers.items():
            trying.start_soon(attempt, name, server, tokens)
    return {name: found[name] for name in servers}


@mcp.command()
@click.argument("name")
@servers_option
@tokens_options
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
def login(name: str, servers: tuple[Served, ...], whose: Whose, no_browser: bool) -> None:
    """Log in to the server NAME, in a browser (OAuth 2.1). Its tokens are kept in the store, encrypted."""
    anyio.run(_logged_in, name, _one(servers, name), whose, not no_browser)
    click.echo(f"You are logged in at {name}.")


async def _logged_in(name: str, server: MCPServer, whose: Whose, browser: bool) -> None:
    async def show(url: str) -> None:
        click.echo(f"Open this address to log in at {name}:\n{url}")
        if browser:
            await anyio.to_thread.run_sync(click.launch, url)

    port = server.credentials.port if isinstance(server.credentials, OAuth) else 0
    async with whose.tokens() as tokens, loopback(port) as (redirect, answered):
        try:
            await log_in(server, tokens, Person(redirect, show, answered))
        except (ToolError, ConfigurationError) as error:
            raise ConfigurationError(f"no login at {name}: {error}") from error


@mcp.command()
@click.argument("name")
@servers_option
@tokens_options
def logout(name: str, servers: tuple[Served, ...], whose: Whose) -> None:
    """Forget the tokens of the server NAME. Until they expire, anyone who has a copy can still use them."""
    if not anyio.run(_logged_out, _one(servers, name), whose):
        raise click.UsageError(f"nobody is logged in at {name}")
    click.echo(f"You are logged out at {name}.")


async def _logged_out(server: MCPServer, whose: Whose) -> bool:
    async with whose.tokens() as tokens:
        return await tokens.drop(server.url)


def _one(servers: Sequence[Served], name: str) -> MCPServer:
    """Return a server with the values of its variables."""
    found = _named(servers)
    if name not in found:
        raise click.UsageError(f"unknown server {name!r}; known: {', '.join(found)}")
    return expanded(found[name], os.environ.get)


def _show(console: Console, name: str, standing: Standing, server: MCPServer) -> None:
    if standing.problem:
        console.print(Text(f"✗ {name}: {clean(standing.problem)}", "bold red"), soft_wrap=True)
        return
    tools = [tool for tool in standing.listed.tools if offered(tool.name, server.include, server.exclude)]
    left = len(standing.listed.tools) - len(tools)
    more = f" ({left} left out)" if left else ""
    console.print(Text(f"✓ {name}: {count(len(tools), 'tool')}{more}, protocol {standing.protocol}", "green"))
    for tool in tools:
        words = (tool.description or "").strip().partition("\n")[0]
        console.print(Text(f"    {clean(tool.name)}  ") + Text(clean(words)[:100], "dim"), soft_wrap=True)


def _console() -> Console:
    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=PIPED)
