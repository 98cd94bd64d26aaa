"""A storm of reconnects: whenever connections are cut, each client has the log at the end, byte for byte."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp
import anyio
import pytest
from hypercorn.config import Config

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.codec import encode
from agentrt.server import ServerSettings, create_app
from agentrt.server.auth.credentials import COOKIE
from agentrt.server.connections import serve_connections
from agentrt.testing import ScriptedLLM
from tests.proofs.mirror import Mirror

from .world import World, each_seed

pytestmark = pytest.mark.simulated

URL = "http://localhost"
TOKEN = "a-token-that-is-long-enough-to-be-one"
CLIENTS = 4
MESSAGES = 12


@asynccontextmanager
async def served(world: World, directory: Path) -> AsyncIterator[Runtime]:
    """A server in the network of the world's loop."""
    settings = ServerSettings(port=0, workspaces=(directory,), token=TOKEN, rate=None, max_sockets=1_000)
    runtime = Runtime(world.storage, client=ScriptedLLM([]), home=directory)
    app = create_app(runtime, settings)
    config, stop = Config(), asyncio.Event()
    config.accesslog, config.errorlog, config.graceful_timeout = None, None, 1.0
    with socket.socket() as listener:
        async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:
            tasks.start_soon(partial(serve_connections, app, listener, config, stop))
            try:
                yield runtime
            finally:
                app.state.services.streams.drain()
                stop.set()


async def storm(world: World, directory: Path) -> None:
    """Clients that come again and again while messages are logged and connections are cut."""
    chance, network = world.chance, world.loop.network
    network.latency = lambda: chance.choice((0.0, 0.0, 0.001, chance.uniform(0.0, 0.05)))
    async with served(world, directory) as runtime:
        agent = Agent(llm=LLM(model="scripted"), checkpoints=False)
        http = aiohttp.ClientSession(connector=aiohttp.UnixConnector("the server", limit=0), cookies={COOKIE: TOKEN})
        async with Conversation(agent, directory, runtime=runtime) as conversation, http:
            mirrors = [Mirror(http, conversation.id) for _ in range(CLIENTS)]
            async with anyio.create_task_group() as tasks:
                for mirror in mirrors:
                    tasks.start_soon(mirror.follow, URL, partial(anyio.sleep, 0.01))
                for number in range(MESSAGES):
                    await conversation.send_message(f"{number} " + "x" * chance.choice((1, 200, 70_000)))
                    await anyio.sleep(chance.choice((0.0, 0.01, 0.1)))
                    if chance.random() < 0.5:
                        network.cut(chance)
                wanted = [encode(event) for event in await world.storage.log(conversation.id)]
                with anyio.fail_after(60):
                    while any(len(mirror.events) < len(wanted) for mirror in mirrors):
                        await anyio.sleep(0.05)
                tasks.cancel_scope.cancel()
            assert all(mirror.events == wanted for mirror in mirrors)


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.long)])
def test_each_client_has_the_log_whenever_it_is_cut(tmp_path: Path, node: str, count: int) -> None:
    each_seed(count, partial(storm, directory=tmp_path), node)
