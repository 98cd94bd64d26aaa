"""A real server on loopback, with a scripted model behind it, and a real HTTP client."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import aiohttp
import anyio
import msgspec
from hypercorn.asyncio import serve as serve_plainly
from hypercorn.config import Config
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from agentrt import LLM, Agent, Runtime
from agentrt.protocols import ModelClient
from agentrt.secrets import Cipher
from agentrt.server import ServerSettings, create_app
from agentrt.server.auth.credentials import COOKIE
from agentrt.server.running import serving
from agentrt.server.services import Authenticator, Services
from agentrt.specs import Durability
from agentrt.storage import FileStore
from agentrt.storage.disk import Disk

Serve: TypeAlias = Callable[[Starlette, ServerSettings], AbstractAsyncContextManager[str]]
"""Serves an application; the URL at which it answers."""


class Client:
    """Speaks JSON with a server."""

    def __init__(self, session: aiohttp.ClientSession, url: str, app: Starlette) -> None:
        self.session, self.url, self.app = session, url, app

    @property
    def services(self) -> Services:
        """What the server's endpoints share."""
        services: Services = self.app.state.services
        return services

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The status, and the body when it is JSON."""
        data = msgspec.json.encode(body) if body is not None else None
        if data is not None:
            headers = {"Content-Type": "application/json", **headers}
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            raw = await answer.read()
            return answer.status, msgspec.json.decode(raw) if raw else None


@asynccontextmanager
async def served(
    directory: Path,
    model: ModelClient,
    settings: ServerSettings | None = None,
    authenticate: Authenticator | None = None,
    durability: Durability = Durability.COMMIT,
    serve: Serve = serving,
    cipher: Cipher | None = None,
    disk: Disk | None = None,
    home: Path | None = None,
) -> AsyncIterator[Client]:
    """A client of a server whose store and workspaces are in `directory`; its logs are written to `disk`."""
    settings = settings or ServerSettings(port=0, workspaces=(directory / "workspaces",))
    (directory / "workspaces").mkdir(exist_ok=True)
    store = FileStore(directory / "store", durability=durability, disk=disk or Disk())
    runtime = Runtime(store, client=model, durability=durability, cipher=cipher, home=home)
    app = create_app(runtime, settings, authenticate)
    async with serve(app, settings) as url, aiohttp.ClientSession(cookies=token_of(app)) as session:
        yield Client(session, url, app)


@asynccontextmanager
async def serving_plainly(app: Starlette, settings: ServerSettings) -> AsyncIterator[str]:
    """As `serving`, with Hypercorn as anyone runs it, behind an application that hands on ASGI messages alone."""

    async def hidden(scope: Scope, receive: Receive, send: Send) -> None:
        async def pass_on(message: Message) -> None:
            await send(message)

        await app(scope, receive, pass_on)

    listener, config, stop = socket.create_server(("127.0.0.1", 0)), Config(), anyio.Event()
    port = listener.getsockname()[1]
    config.bind, config.errorlog, config.graceful_timeout = [f"fd://{listener.detach()}"], None, 0.1
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serve_plainly, cast(Any, hidden), config, shutdown_trigger=stop.wait))
        yield f"http://127.0.0.1:{port}"
        stop.set()


def token_of(app: Starlette) -> dict[str, str]:
    """The cookie with which a client is let in where the server has no keys."""
    return {COOKIE: app.state.access.token}


def agent(**fields: Any) -> dict[str, Any]:
    """An agent as a request has it."""
    given: dict[str, Any] = {"checkpoints": False} | fields
    described: dict[str, Any] = msgspec.to_builtins(Agent(llm=LLM(model="scripted/model"), **given))
    return described
