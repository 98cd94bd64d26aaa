"""A server below another application: everything works there, and one that was not started says what to write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from agentrt import LLM, Agent, Conversation, RemoteWorkspace, Runtime
from agentrt.errors import ConfigurationError
from agentrt.server import ServerSettings, create_app, lifespan_of
from agentrt.server.auth.credentials import not_known
from agentrt.server.principals import EVERYONE, Principal
from agentrt.server.problems import Refusal
from agentrt.server.running import serving
from agentrt.testing import ScriptedLLM, say
from tests.steering import HeldModel

from .served import token_of

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())


def of_starlette(agents: Starlette, *, started: bool = True) -> Any:
    return Starlette(
        routes=[Mount("/agents", agents), Route("/own", lambda request: PlainTextResponse("own"))],
        lifespan=lifespan_of(agents) if started else None,
    )


def of_fastapi(agents: Starlette, *, started: bool = True) -> Any:
    app = FastAPI(lifespan=lifespan_of(agents) if started else None)
    app.mount("/agents", agents)
    app.add_api_route("/own", lambda: PlainTextResponse("own"))
    return app


@asynccontextmanager
async def mounted(
    place: Path, make: Callable[..., Any], client: ScriptedLLM, **given: Any
) -> AsyncIterator[tuple[aiohttp.ClientSession, str, Starlette]]:
    """A session with the outer application, the URL of what it mounts, and that itself."""
    settings = ServerSettings(port=0, workspaces=(place,), agent=AGENT)
    agents = create_app(Runtime(place / "store", client=client), settings)
    async with serving(make(agents, **given), settings) as url, aiohttp.ClientSession(url) as session:
        yield session, f"{url}/agents", agents


@pytest.mark.parametrize("make", [of_starlette, of_fastapi])
async def test_everything_works_below_another_application(tmp_path: Path, make: Callable[..., Any]) -> None:
    client = ScriptedLLM([say("Hello."), say("Again.")])
    async with mounted(tmp_path, make, client) as (session, url, agents):
        async with session.get("/own") as answer:
            assert await answer.text() == "own"
        session.cookie_jar.update_cookies(token_of(agents))
        async with session.post("/agents/conversations", json={"message": "Hi"}) as answer:
            assert answer.status == 201
            where = answer.headers["Location"]
        assert where.startswith("/agents/conversations/")
        async with session.ws_connect("/agents/events") as socket:
            name = where.rpartition("/")[2]
            await socket.send_json([{"type": "follow", "conversation": name}])
            assert (await socket.receive_json(timeout=10))[0]["type"] == "event"
        async with session.get("/agents/openapi.json") as answer:
            assert (await answer.json())["servers"] == [{"url": "/agents"}]
        async with session.get("/agents") as answer:
            assert answer.url.path == "/agents/"
            page = await answer.text()
        assert 'src="/' not in page
        place = RemoteWorkspace(url, api_key=agents.state.access.token)
        async with Conversation(AGENT, place) as talk:
            assert await talk.prompt("Hi") in ("Hello.", "Again.")
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(url)


@pytest.mark.parametrize("make", [of_starlette, of_fastapi])
async def test_one_that_was_not_started_says_what_to_write(tmp_path: Path, make: Callable[..., Any]) -> None:
    async with mounted(tmp_path, make, ScriptedLLM([]), started=False) as (session, _, _agents):
        async with session.get("/agents/conversations") as answer:
            assert answer.status == 503
            assert "lifespan=lifespan_of(agents)" in (await answer.json(content_type=None))["detail"]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/agents/events")
        assert refused.value.status == 503


@pytest.mark.simulated
async def test_one_that_was_stopped_is_not_there(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path,), agent=AGENT)
    agents = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([])), settings)
    async with lifespan_of(agents)(None):
        assert hasattr(agents.state, "services")
    assert not hasattr(agents.state, "services")


async def test_a_path_of_any_letters_is_told_as_urls_have_it(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path,), agent=AGENT)
    agents = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([])), settings)
    outer = Starlette(routes=[Mount("/日本 a", agents)], lifespan=lifespan_of(agents))
    async with serving(outer, settings) as url, aiohttp.ClientSession(url, cookies=token_of(agents)) as session:
        async with session.post("/日本 a/conversations", json={}) as answer:
            assert answer.status == 201
            where = answer.headers["Location"]
        assert where.startswith("/%E6%97%A5%E6%9C%AC%20a/conversations/")
        async with session.get(where) as answer:
            assert answer.status == 200
        async with session.get("/日本 a/openapi.json") as answer:
            assert (await answer.json())["servers"] == [{"url": "/%E6%97%A5%E6%9C%AC%20a"}]


@pytest.mark.simulated
async def test_what_runs_is_paused_when_it_is_stopped_and_goes_on_with_the_next(tmp_path: Path) -> None:
    settings = ServerSettings(workspaces=(tmp_path,), agent=AGENT, drain=0.1, resume_running=True)
    held = HeldModel([say("Never.")])
    agents = create_app(Runtime(tmp_path / "store", client=held), settings)
    async with lifespan_of(agents)(None):
        conversation = await agents.state.services.hosting.create(AGENT, EVERYONE, None, "c", {})
        await conversation.send_message("Go")
        await conversation.start_run()
        await held.calling()
    again = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([say("Here I am.")])), settings)
    async with lifespan_of(again)(None):
        conversation = await again.state.services.hosting.get("c", EVERYONE)
        with anyio.fail_after(10):
            assert (await conversation.run()).answer == "Here I am."


@pytest.mark.simulated
async def test_its_lifespan_is_entered_once(tmp_path: Path) -> None:
    agents = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([])))
    async with lifespan_of(agents)(None):
        with pytest.raises(ConfigurationError, match="this server runs already"):
            async with lifespan_of(agents)(None):
                raise AssertionError
        assert hasattr(agents.state, "services")


async def test_a_login_of_one_s_own_is_asked_and_tickets_are_good(tmp_path: Path) -> None:
    async def login(connection: HTTPConnection) -> Principal:
        if connection.headers.get("authorization") != "Basic bWU6bWU=":
            raise not_known("log in")
        return EVERYONE

    settings = ServerSettings(port=0, workspaces=(tmp_path,), agent=AGENT)
    agents = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([])), settings, login)
    async with serving(agents, settings) as url, aiohttp.ClientSession(url) as session:
        async with session.get("/conversations") as answer:
            assert answer.status == 401
        mine = {"Authorization": "Basic bWU6bWU="}
        async with session.get("/conversations", headers=mine) as answer:
            assert answer.status == 200
        async with session.post("/tickets", headers=mine) as answer:
            ticket = (await answer.json())["ticket"]
        async with session.ws_connect(f"/events?ticket={ticket}") as socket:
            await socket.send_json([{"type": "alive"}])
            assert not socket.closed
        async with session.ws_connect(f"/events?ticket={ticket}") as socket:
            assert (await socket.receive()).data == 4001


@pytest.mark.simulated
async def test_without_keys_it_answers_this_machine_only_wherever_it_is_served(tmp_path: Path) -> None:
    access = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([]))).state.access
    key = (b"authorization", f"Bearer {access.token}".encode())
    for host, good in (("127.0.0.1", True), ("::1", True), ("testserver", True), ("192.168.1.5", False)):
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [key]}
        scope["server"] = (host, 80)
        if good:
            assert await access(HTTPConnection(scope)) == EVERYONE
        else:
            with pytest.raises(Refusal, match="agentrt keys create"):
                await access(HTTPConnection(scope))
