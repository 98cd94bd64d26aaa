"""Pins of MCP servers: a program in the workspace is started only as it was when the conversation began."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec.structs import replace

from ..pins import ABSENT, pins_of_program
from ..specs.mcp import MCPServer

CHANGED = "is not as it was when the conversation began: begin another conversation to run it as it is now"
CHANGED_OFFER = "is not as it was when a person agreed to run it: agree to it again"
"""Why a server is not started, after the path of a file."""


def pinned(servers: Mapping[str, MCPServer], workspace: str) -> dict[str, MCPServer]:
    """Return the servers, each with pins of the workspace files that its command runs, whoever has named it: the agent
    can write these files. A server of a project or a plugin keeps the pins that a person agreed to. For a thread.
    """
    return {name: server if server.pinned else _pinned(server, workspace) for name, server in servers.items()}


def _pinned(server: MCPServer, workspace: str) -> MCPServer:
    if server.way != "stdio":
        return server
    cwd = os.path.join(os.getcwd(), server.cwd) if server.shared else server.cwd
    path = server.env.get("PATH", os.environ.get("PATH", os.defpath))
    return replace(server, pinned=tuple(pins_of_program(server.command, server.args, workspace, cwd, path)))


def started_safely(server: MCPServer) -> MCPServer:
    """Return a server so that a Python module outside of the workspace imports nothing that is in it: `python -m` looks
    into its directory first. A server of which a part is in the workspace stays as it is.
    """
    if not server.pinned or any(digest != ABSENT for _, digest in server.pinned):
        return server
    return replace(server, env={"PYTHONSAFEPATH": "1", **server.env})
