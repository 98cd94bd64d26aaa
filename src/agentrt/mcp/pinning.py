"""Pins of MCP servers: digests of their tools and of their programs, from when a person came to trust them.

`ToolPins` has the tools of servers as they were first seen, for each owner. A server may change a tool later: a "rug
pull". `pinned` has the programs of servers in the workspace as they were when a conversation began: the agent can write
there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError
from ..pins import ABSENT, pins_of_program
from ..security.paths import within
from ..specs import ToolDefinition
from ..specs.mcp import MCPServer
from ..storing import Shelf, replaced
from .definitions import digest

KIND = "mcp-tools"

CHANGED = "is not as it was when the conversation began: begin another conversation to run it as it is now"
CHANGED_OFFER = "is not as it was when a person agreed to run it: agree to it again"
"""Why a server is not started, after the path of a file."""


class _Seen(msgspec.Struct):
    server: str
    where: str
    digests: dict[str, str] = {}
    """By the server's own names of its tools."""


class ToolPins:
    """The pins of an owner, on the shelf of a storage."""

    def __init__(self, shelf: Shelf, owner: str | None) -> None:
        self._shelf, self._owner = shelf, owner

    async def changed(self, name: str, server: MCPServer, tools: Iterable[ToolDefinition]) -> dict[str, str]:
        """Return the tools that have changed since they were first seen, by the server's names, each with its new
        digest. New tools are pinned. Raises `ConfigurationError`.
        """
        now = {tool.remote: digest(tool) for tool in tools if tool.remote}
        held = await self._shelf.get(KIND, self._name(name, server))
        before = self._read(held[0], name, server).digests if held is not None else {}
        if not now.keys() <= before.keys():
            await self._write(name, server, {**now, **before})
        return {tool: said for tool, said in now.items() if before.get(tool, said) != said}

    async def accept(self, name: str, server: MCPServer, digests: dict[str, str]) -> None:
        """Pin tools, by the server's names, to these digests. Raises `ConfigurationError`."""
        await self._write(name, server, digests, over=True)

    async def _write(self, name: str, server: MCPServer, digests: dict[str, str], *, over: bool = False) -> None:
        def change(data: bytes | None) -> bytes:
            held = self._read(data, name, server) if data is not None else _Seen(name, server.where)
            held.digests = {**held.digests, **digests} if over else {**digests, **held.digests}
            return msgspec.json.encode(held)

        await replaced(self._shelf, KIND, self._name(name, server), change)

    def _name(self, name: str, server: MCPServer) -> str:
        return sha256(msgspec.json.encode((self._owner, name, server.command, server.args, server.url))).hexdigest()

    def _read(self, data: bytes, name: str, server: MCPServer) -> _Seen:
        try:
            return msgspec.json.decode(data, type=_Seen)
        except msgspec.DecodeError as error:
            where = self._shelf.where(KIND, self._name(name, server))
            raise ConfigurationError(f"what its tools said before cannot be read: delete {where}") from error


def pinned(servers: Mapping[str, MCPServer], workspace: str) -> dict[str, MCPServer]:
    """Return the servers, each with pins of the workspace files that its command runs, whoever has named it: the agent
    can write these files. A server of a project or a plugin keeps the pins that a person agreed to. For a thread.
    """
    return {name: server if server.pinned else _pinned(server, workspace) for name, server in servers.items()}


def _pinned(server: MCPServer, workspace: str) -> MCPServer:
    if server.way != "stdio":
        return server
    cwd = os.path.join(os.getcwd(), server.cwd) if server.shared else server.cwd
    pins = pins_of_program(server.command, server.args, workspace, cwd, server.env.get("PATH"))
    return replace(server, pinned=tuple(pins))


def is_confined(server: MCPServer, workspace: str) -> bool:
    """Return whether a server belongs behind the wall: what the workspace holds the agent may have written."""
    if server.confined is not None:
        return server.confined
    if server.cwd and within(os.path.normpath(os.path.join(workspace, server.cwd)), workspace):
        return True
    return any(digest != ABSENT and within(os.path.join(workspace, path), workspace) for path, digest in server.pinned)


def started_safely(server: MCPServer) -> MCPServer:
    """Return a server so that a Python module outside of the workspace imports nothing that is in it: `python -m` looks
    into its directory first. A server of which a part is in the workspace stays as it is.
    """
    if not server.pinned or any(digest != ABSENT for _, digest in server.pinned):
        return server
    return replace(server, env={"PYTHONSAFEPATH": "1", **server.env})
