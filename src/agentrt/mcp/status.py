"""The status of a conversation's MCP servers, for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from ..events import ToolsChanged
from ..specs.mcp import MCPServer, Transport
from .connection import Connection

ServerState: TypeAlias = Literal["disabled", "connecting", "ready", "resting", "down"]
"""A "resting" server has no session now; the next call opens one."""


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of an MCP server of a conversation: its configuration, what it offers, and its log."""

    name: str
    way: Transport
    where: str
    """The command, or the address, as it is configured."""
    standing: ServerState
    problem: str
    """Why it is down, and what to do; "" if it is not down."""
    protocol: str
    """The revision of the protocol; "" before it is known."""
    tools: tuple[str, ...]
    deferred: bool
    """Whether the model has to search for them, because there are many."""
    prompts: tuple[str, ...]
    logs_in: bool
    """Whether a person can log in there."""
    lines: tuple[str, ...]
    """The last lines of its log."""


class ServerList(msgspec.Struct, frozen=True, kw_only=True):
    """The MCP servers of a conversation, by name."""

    items: tuple[ServerStatus, ...]


class LoginAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address that a person opens to log in."""

    url: str


def status_of(
    name: str,
    server: MCPServer,
    offered: ToolsChanged | None,
    connection: Connection | None,
    masked: Callable[[str], str],
) -> ServerStatus:
    """Return the status of a server, by its last logged event and its connection, without secrets."""
    now = connection.standing if connection is not None else None
    problem = offered.problem if offered is not None else ""
    if now is not None and now.problem:
        problem = problem or now.problem
    standing: ServerState = "connecting"
    if server.disabled:
        standing = "disabled"
    elif problem:
        standing = "down"
    elif connection is not None and now is not None and now.ready:
        standing = "ready" if connection.open else "resting"
    return ServerStatus(
        name=name,
        way=server.way,
        where=server.where,
        standing=standing,
        problem=masked(problem),
        protocol=now.protocol if now is not None else "",
        tools=tuple(tool.name for tool in offered.tools) if offered is not None else (),
        deferred=offered is not None and offered.deferred,
        prompts=offered.prompts if offered is not None else (),
        logs_in=server.logs_in,
        lines=tuple(map(masked, connection.answers.lines if connection is not None else ())),
    )
