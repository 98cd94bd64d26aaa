"""A real server on loopback, with a scripted model behind it, and a real HTTP client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from starlette.applications import Starlette

from agentrt import LLM, Agent, Runtime
from agentrt.protocols import ModelClient
from agentrt.server import ServerSettings, create_app
from agentrt.server.auth.credentials import COOKIE
from agentrt.server.running import serving
from agentrt.server.services import Authenticator, Services
from agentrt.specs import Durability


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
) -> AsyncIterator[Client]:
    """A client of a server whose store and workspaces are in `directory`."""
    settings = settings or ServerSettings(port=0, workspaces=(directory / "workspaces",))
    (directory / "workspaces").mkdir(exist_ok=True)
    app = create_app(Runtime(directory / "store", client=model, durability=durability), settings, authenticate)
    async with serving(app, settings) as url, aiohttp.ClientSession(cookies=token_of(app)) as session:
        yield Client(session, url, app)


def token_of(app: Starlette) -> dict[str, str]:
    """The cookie with which a client is let in where the server has no keys."""
    return {COOKIE: app.state.access.token}


def agent(**fields: Any) -> dict[str, Any]:
    """An agent as a request has it."""
    described: dict[str, Any] = msgspec.to_builtins(Agent(llm=LLM(model="scripted/model"), **fields))
    return described
