"""Logins at a real server with its authorization server: the person is a GET of the address that is shown."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest

from agentrt.errors import ConfigurationError, ToolError
from agentrt.mcp.connection import Connection, connected
from agentrt.mcp.login import Person, log_in
from agentrt.mcp.loopback import loopback
from agentrt.mcp.results import content_of
from agentrt.mcp.tokens import KIND, Held, Tokens, tokens_of
from agentrt.secrets import Cipher, StoreKey
from agentrt.specs.content import plain
from agentrt.specs.credentials import OAuth
from agentrt.specs.mcp import MCPServer
from agentrt.storage.memory import MemoryStorage
from agentrt.storing import Shelf, replaced
from tests.mcp.serving import free_port, served

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]

SECONDS = 30


async def visit(url: str) -> None:
    """Open an address as a browser does."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        (await browser.get(url)).raise_for_status()


async def logged_in(server: MCPServer, tokens: Tokens, port: int = 0) -> None:
    async with loopback(port) as (redirect, answered):
        await log_in(server, tokens, Person(redirect, visit, answered))


async def said(connection: Connection, tool: str) -> str:
    return plain(content_of(await connection.call(tool, {})))


@asynccontextmanager
async def authorized(seconds: int = 3600) -> AsyncIterator[MCPServer]:
    port = free_port()
    async with served(port, "tests.mcp.authorized", str(seconds)):
        yield MCPServer(url=f"http://127.0.0.1:{port}/mcp")


async def test_a_login_is_held_for_its_owner_alone_and_survives_refusals(tmp_path: Path) -> None:
    shelf = MemoryStorage().shelf
    of = tokens_of(shelf, StoreKey(None, tmp_path))
    ada, bob = of("ada"), of("bob")
    with anyio.fail_after(SECONDS):
        async with authorized() as server:
            async with connected("web", server, tokens=ada) as connection:
                assert "agentrt mcp login" in (await connection.ready()).problem
            await logged_in(server, ada)
            held = await ada.get(server.url)
            assert held is not None
            async with connected("web", server, tokens=ada) as connection:
                assert await said(connection, "tell") == f"Bearer {held.access}"
                assert held.access in connection.secrets
                assert await said(connection, "registered") == "1", "who only asks registers nobody"
                await connection.call("forget", {})
                assert await said(connection, "tell") not in ("nothing", f"Bearer {held.access}"), "it is refreshed"
                await connection.call("forget_all", {})
                for _ in range(2):
                    with pytest.raises(ToolError, match="tell of web failed: it wants a login: use 'agentrt mcp login"):
                        await said(connection, "tell")
                await logged_in(server, ada)
                connection.again()
                assert (await said(connection, "tell")).startswith("Bearer access-")
            async with connected("web", server, tokens=bob) as connection:
                assert "agentrt mcp login" in (await connection.ready()).problem
            (name,) = await shelf.names(KIND)
            document = await shelf.get(KIND, name)
            assert document is not None
            assert held.access.encode() not in document[0]
            with pytest.raises(ConfigurationError, match="log in again"):
                await _moved(document[0], held, shelf, bob, server)
            assert await ada.drop(server.url)
            assert not await ada.drop(server.url)
    key = tmp_path / ".config" / "agentrt" / "secrets.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


async def _moved(document: bytes, held: Held, shelf: Shelf, other: Tokens, server: MCPServer) -> None:
    """One owner's document in the place of another one's."""
    known = await shelf.names(KIND)
    await other.put(server.url, held)
    (name,) = set(await shelf.names(KIND)).difference(known)
    try:
        await replaced(shelf, KIND, name, lambda before: document)
        await other.get(server.url)
    finally:
        await shelf.delete(KIND, name)


async def test_a_token_that_ends_is_refreshed_before_and_by_one_of_many() -> None:
    tokens = tokens_of(MemoryStorage().shelf, StoreKey(Cipher(Cipher.new_key()), None))(None)
    with anyio.fail_after(SECONDS):
        async with authorized(seconds=20) as server:  # less than the time before the end at which one is refreshed
            await logged_in(server, tokens)
            first = await tokens.get(server.url)
            assert first is not None
            async with (
                connected("one", server, tokens=tokens) as one,
                connected("two", server, tokens=tokens) as two,
                anyio.create_task_group() as tasks,
            ):
                for connection in (one, two) * 4:
                    tasks.start_soon(said, connection, "tell")
            assert (await tokens.get(server.url)) != first


async def test_a_login_says_why_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    shelf = MemoryStorage().shelf
    tokens = tokens_of(shelf, StoreKey(Cipher(Cipher.new_key()), None))(None)

    async def refuse(url: str) -> None:
        back = httpx2.URL(url).params["redirect_uri"]
        await visit(f"{back}?error=access_denied&error_description=no")

    async def forge(url: str) -> None:
        await visit(f"{httpx2.URL(url).params['redirect_uri']}?code=1&state=another")

    with anyio.fail_after(SECONDS):
        async with authorized() as server:
            for show, says in ((refuse, "refused: access_denied no"), (forge, "State parameter mismatch")):
                async with loopback() as (redirect, answered):
                    with pytest.raises(ToolError, match=says):
                        await log_in(server, tokens, Person(redirect, show, answered))
            with pytest.raises(ConfigurationError, match="takes no login"):
                await logged_in(msgspec.structs.replace(server, auth="a-token"), tokens)
            with pytest.raises(ConfigurationError, match="give a key"):
                await logged_in(server, tokens_of(shelf, StoreKey(None, None))(None))
            async with loopback() as (redirect, _):
                port = httpx2.URL(redirect).port
                with pytest.raises(ConfigurationError, match="is taken"):
                    await logged_in(server, tokens, port or 0)
        async with served(port := free_port()):
            with pytest.raises(ToolError, match="asks for no login"):
                await logged_in(MCPServer(url=f"http://127.0.0.1:{port}/mcp"), tokens)
    assert await shelf.names(KIND) == []
    assert "Traceback" not in caplog.text


async def test_scopes_and_a_client_of_ones_own_are_asked_for() -> None:
    asked: list[httpx2.URL] = []

    async def look(url: str) -> None:
        asked.append(httpx2.URL(url))
        await visit(f"{asked[0].params['redirect_uri']}?error=enough")

    server = MCPServer(url="http://127.0.0.1:1/mcp")
    tokens = tokens_of(MemoryStorage().shelf, StoreKey(Cipher(Cipher.new_key()), None))(None)
    with anyio.fail_after(SECONDS):
        async with authorized() as server:
            given = msgspec.structs.replace(server, auth=OAuth(client_id="mine", scopes=("read", "write")))
            async with loopback() as (redirect, answered):
                with pytest.raises(ToolError, match="enough"):
                    await log_in(given, tokens, Person(redirect, look, answered))
    assert (asked[0].params["client_id"], asked[0].params["scope"]) == ("mine", "read write")
    assert asked[0].params["code_challenge_method"] == "S256"
