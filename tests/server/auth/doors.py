"""A real server whose store has keys, and those who have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from agentrt import LLM, Agent, ConfirmRisky
from agentrt.protocols import ModelClient
from agentrt.server import ServerSettings
from agentrt.server.principals import Scope
from agentrt.testing import ScriptedLLM
from tests.stores import make_key

from ..served import Client, served

AGENT = Agent(llm=LLM(model="scripted/model"), tools=(), confirmation=ConfirmRisky())

KEYS = {
    "ada": ("ada", (Scope.OBSERVE, Scope.STEER, Scope.APPROVE)),
    "bob": ("bob", (Scope.OBSERVE, Scope.STEER, Scope.EXECUTE, Scope.APPROVE)),
    "root": ("root", (Scope.ADMIN,)),
}


class Doors:
    """A client of the server, and a key for each name of `KEYS`; the store is at `root`."""

    def __init__(self, client: Client, keys: dict[str, str], root: Path) -> None:
        self.client, self.keys, self.root = client, keys, root

    def header(self, name: str) -> dict[str, str]:
        """What somebody logs in with."""
        return {"Authorization": f"Bearer {self.keys[name]}"}

    async def ask(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """As somebody: the status, and the body when it is JSON."""
        return await self.client.ask(method, path, body, **self.header(name), **headers)

    async def begin(self, name: str, agent: Agent = AGENT, **more: Any) -> str:
        """A conversation of somebody; its id."""
        status, made = await self.ask(name, "POST", "/conversations", {"agent": msgspec.to_builtins(agent), **more})
        assert status == 201, made
        return str(made["id"])

    def socket(self, path: str, **options: Any) -> Any:
        """A WebSocket."""
        return self.client.session.ws_connect(self.client.url.replace("http", "ws") + path, **options)


@asynccontextmanager
async def doors(
    directory: Path, model: ModelClient | None = None, home: Path | None = None, **settings: Any
) -> AsyncIterator[Doors]:
    """A server with keys."""
    root = directory / "store"
    keys = {name: await make_key(root, owner, scopes) for name, (owner, scopes) in KEYS.items()}
    asked = ServerSettings(port=0, workspaces=(directory / "workspaces",), **settings)
    async with served(directory, model or ScriptedLLM([]), asked, home=home) as client:
        yield Doors(client, keys, root)


async def raw(url: str, request: bytes) -> bytes:
    """What a server answers to bytes that no HTTP library would send."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
        await writer.wait_closed()


async def closed_with(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    """The code with which a server ends a socket."""
    async for _ in socket:
        pass
    return socket.close_code
