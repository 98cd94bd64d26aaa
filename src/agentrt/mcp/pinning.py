"""`ToolPins`: digests of the tools of servers as they were first seen, for each owner.

A server may change a tool after a person has come to trust it: a "rug pull".
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import msgspec

from ..errors import ConfigurationError
from ..specs import ToolDefinition
from ..specs.mcp import MCPServer
from ..storing import Shelf, replaced
from .definitions import digest

KIND = "mcp-tools"


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
