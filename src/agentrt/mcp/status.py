"""How the MCP servers of a conversation stand, for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from ..events import ToolsChanged
from ..specs.mcp import MCPServer, Transport
from .connection import Connection

ServerState: TypeAlias = Literal["disabled", "connecting", "ready", "resting", "down"]
"""A server that is resting has no session now, and gets one with the next call."""


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How an MCP server of a conversation stands: what is configured, what it offers, and its log."""

    name: str
    way: Transport
    where: str
    """The command, or the address, as it is configured."""
    standing: ServerState
    problem: str
    """Why it is down, and what to do; "" where it is not."""
    protocol: str
    """The revision of the protocol; "" before it is known."""
    tools: tuple[str, ...]
    deferred: bool
    """Whether the model searches them, since they are many."""
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
    """How a server stands, by what was logged of it and by its connection; all without secrets."""
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
