"""MCP servers over REST and from a remote conversation, and a login whose browser comes back to the server."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from agentrt import Conversation, RemoteWorkspace
from agentrt.errors import ConfigurationError, ServerMissing, ToolError
from agentrt.secrets import Cipher
from agentrt.testing import ScriptedLLM, call, finish
from tests.mcp import serving
from tests.mcp.warm import warm
from tests.proofs.waiting import eventually
from tests.test_mcp import DEMO, agent

from ..served import served

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]


@asynccontextmanager
async def remote(directory: Path, servers: dict[str, Any], cipher: Cipher | None = None) -> AsyncIterator[Any]:
    """A conversation on a server, and the server."""
    model = ScriptedLLM([call("tell"), finish("ok")] if "web" in servers else [finish("ok")])
    with anyio.fail_after(60):
        async with served(directory, model, cipher=cipher) as client:
            place = RemoteWorkspace(client.url, api_key=client.app.state.access.token)
            async with Conversation(agent(servers), place) as conversation:
                yield conversation, client


async def standing(conversation: Conversation) -> dict[str, str]:
    return {one.name: one.standing for one in (await conversation.servers.list()).items}


async def test_how_they_stand_and_a_try_again(tmp_path: Path) -> None:
    later = tmp_path / "later"
    waiting = f"test -e {later} && exec {shlex.join(warm('tests.mcp.server'))}"
    servers = {
        "demo": {**DEMO, "env": {"API_TOKEN": "hidden-token-1"}},
        "later": {**DEMO, "command": "sh", "args": ["-c", waiting]},
        "off": {**DEMO, "disabled": True},
    }
    async with remote(tmp_path, servers) as (conversation, _):
        await conversation.prompt("go")
        assert await standing(conversation) == {"demo": "ready", "later": "down", "off": "disabled"}
        demo, down, _ = (await conversation.servers.list()).items
        assert "add" in demo.tools
        assert (demo.way, demo.logs_in, demo.deferred) == ("stdio", False, False)
        assert demo.protocol
        assert "hidden-token-1" not in repr(demo)
        assert down.problem
        later.touch()
        assert (await conversation.servers.connect("later")).standing == "ready"
        assert (await conversation.servers.connect("demo")).standing == "ready"
        with pytest.raises(ServerMissing, match="unknown MCP server 'nobody'; known: demo, later, off"):
            await conversation.servers.connect("nobody")
        with pytest.raises(ConfigurationError, match="takes no login: it is a program"):
            await conversation.servers.log_in("demo")
        with pytest.raises(ConfigurationError, match="nobody is logged in"):
            await conversation.servers.log_out("demo")


async def test_without_servers_there_are_none(tmp_path: Path) -> None:
    async with remote(tmp_path, {}) as (conversation, _):
        assert (await conversation.servers.list()).items == ()
        with pytest.raises(ServerMissing, match="this conversation has none"):
            await conversation.servers.connect("demo")


async def test_a_person_logs_in_and_out_and_the_token_is_nowhere(tmp_path: Path) -> None:
    port = serving.free_port()
    web = {"url": f"http://127.0.0.1:{port}/mcp"}
    async with (
        serving.served(port, "tests.mcp.authorized"),
        remote(tmp_path, {"web": web}, Cipher(Cipher.new_key())) as (conversation, client),
        httpx2.AsyncClient(follow_redirects=True) as browser,
    ):
        await eventually(lambda: _is(conversation, "web", "down"), "it asks for a login", 20)
        (down,) = (await conversation.servers.list()).items
        assert down.logs_in
        assert "it wants a login" in down.problem
        url = await conversation.servers.log_in("web")
        came = await browser.get(url)
        assert (came.status_code, str(came.url).partition("?")[0]) == (400, f"{client.url}/mcp/callback")
        assert "begun elsewhere" in came.text, "another's browser ends no login"
        assert "default-src 'none'" in came.headers["content-security-policy"]
        await conversation.servers.finish_log_in("web", str(came.url))
        with pytest.raises(ToolError, match="begin it again"):
            await conversation.servers.finish_log_in("web", str(came.url))
        await eventually(lambda: _is(conversation, "web", "ready"), "it is there", 20)
        await conversation.prompt("go")
        held = await client.app.state.runtime.connections.tokens(None).get(web["url"])
        log = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
        assert all(secret.encode() not in log for secret in held.secrets), "the server had told it in a result"
        assert (await conversation.servers.log_out("web")).problem
        await eventually(lambda: _is(conversation, "web", "down"), "it asks for a login again", 20)


async def _is(conversation: Conversation, name: str, wanted: str) -> bool:
    return (await standing(conversation))[name] == wanted


async def test_the_browser_that_began_a_login_ends_it(tmp_path: Path) -> None:
    port = serving.free_port()
    servers = {"web": {"url": f"http://127.0.0.1:{port}/mcp"}}
    async with (
        serving.served(port, "tests.mcp.authorized"),
        remote(tmp_path, servers, Cipher(Cipher.new_key())) as (conversation, client),
        httpx2.AsyncClient(follow_redirects=True) as browser,
    ):
        headers = {"Authorization": f"Bearer {client.app.state.access.token}"}
        begun = await browser.post(f"{client.url}/conversations/{conversation.id}/servers/web/login", headers=headers)
        assert "HttpOnly; SameSite=Lax" in begun.headers["set-cookie"]
        came = await browser.get(begun.json()["url"])
        assert came.status_code == 200, came.text
        assert "You are logged in" in came.text
        await eventually(lambda: _is(conversation, "web", "ready"), "it is there", 20)


async def test_a_server_without_a_key_says_what_it_needs(tmp_path: Path) -> None:
    port = serving.free_port()
    async with (
        serving.served(port, "tests.mcp.authorized"),
        remote(tmp_path, {"web": {"url": f"http://127.0.0.1:{port}/mcp"}}) as (conversation, _),
    ):
        with pytest.raises(ConfigurationError, match="give a key"):
            await conversation.servers.log_in("web")


async def test_what_a_browser_brings_is_escaped_and_of_no_use_to_others(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client, httpx2.AsyncClient() as browser:
        came = await browser.get(f"{client.url}/mcp/callback?state=<script>&code=1")
        assert came.status_code == 400
        assert "<script>" not in came.text
