"""Where a conversation runs, for tests that are the same for both: in this process, or on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from agentrt import Agent, Conversation, Event, RemoteWorkspace, Runtime
from agentrt.protocols import ModelClient
from agentrt.secrets import AnySecret
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.tools import ToolType

TOKEN = "token-of-these-tests"


class Place(Protocol):
    """Begins conversations, and reopens them."""

    workspace: Path
    """A directory in which those work that are begun here."""

    def begin(self, agent: Agent, *, id: str | None = None, secrets: Mapping[str, AnySecret] = {}) -> Conversation: ...

    def reopen(self, id: str) -> Conversation: ...


class Local:
    """In this process."""

    def __init__(self, runtime: Runtime, workspace: Path) -> None:
        self.runtime, self.workspace = runtime, workspace

    def begin(self, agent: Agent, *, id: str | None = None, secrets: Mapping[str, AnySecret] = {}) -> Conversation:
        return Conversation(agent, self.workspace, id=id, runtime=self.runtime, secrets=secrets)

    def reopen(self, id: str) -> Conversation:
        return Conversation(id=id, runtime=self.runtime)


class Remote:
    """On a server."""

    def __init__(self, place: RemoteWorkspace, workspace: Path) -> None:
        self.place, self.workspace = place, workspace

    def begin(self, agent: Agent, *, id: str | None = None, secrets: Mapping[str, AnySecret] = {}) -> Conversation:
        return Conversation(agent, self.place, id=id, secrets=secrets)

    def reopen(self, id: str) -> Conversation:
        return Conversation(id=id, workspace=self.place)


At = Callable[..., AbstractAsyncContextManager[Place]]


@asynccontextmanager
async def local(
    directory: Path, model: ModelClient, tools: Iterable[ToolType] = (), **more: Any
) -> AsyncIterator[Place]:
    """A place in this process whose store and workspace are in `directory`."""
    workspace = _workspace(directory)
    async with Runtime(directory / "store", client=model, tools=tools, **more) as runtime:
        yield Local(runtime, workspace)


@asynccontextmanager
async def remote(
    directory: Path, model: ModelClient, tools: Iterable[ToolType] = (), port: int = 0, **more: Any
) -> AsyncIterator[Place]:
    """A place on a server of this process, whose store and workspace are in `directory`."""
    workspace = _workspace(directory)
    settings = ServerSettings(port=port, token=TOKEN, workspaces=(directory,), drain=1.0)
    app = create_app(Runtime(directory / "store", client=model, tools=tools, **more), settings)
    async with serving(app, settings) as url:
        yield Remote(RemoteWorkspace(url, path="workspace", timeout=5.0, api_key=TOKEN), workspace)


def _workspace(directory: Path) -> Path:
    workspace = directory / "workspace"
    workspace.mkdir(exist_ok=True)
    return workspace


async def everything(conversation: Conversation) -> list[Event]:
    """All its events."""
    return [event async for event in conversation.events()]
