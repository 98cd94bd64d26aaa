"""Connections to real servers: a process, and one over HTTP."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import psutil
import pytest
from msgspec.structs import replace

from agentrt.errors import ToolError
from agentrt.mcp.answering import Caller
from agentrt.mcp.connection import Connection, connected
from agentrt.mcp.connections import Connections, Whose
from agentrt.mcp.results import content_of
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.specs.mcp import MCPServer
from tests.mcp.serving import free_port, served
from tests.mcp.warm import ROOT
from tests.proofs.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]

DEMO = MCPServer(command=sys.executable, args=("-m", "tests.mcp.server"), cwd=str(ROOT), env={"GIVEN": "yes"})
SECONDS = 30


def script(code: str, **more: float) -> MCPServer:
    """A server that is a line of shell."""
    return MCPServer(command="sh", args=("-c", code), cwd="/", connect_timeout=more.get("connect_timeout", 5))


async def said(connection: Connection, tool: str, **arguments: object) -> str:
    """The words that a tool answers."""
    return plain(content_of(await connection.call(tool, arguments)))


async def test_a_process_is_called_dies_and_comes_back_with_named_variables_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OURS", "secret")
    told: list[tuple[float, float | None, str | None]] = []
    with anyio.fail_after(SECONDS):
        async with connected("demo", DEMO) as connection:
            standing = await connection.ready()
            assert {"add", "die", "show"} <= {tool.name for tool in standing.listed.tools}
            assert standing.protocol
            assert await said(connection, "add", a=1, b=2) == "3"
            assert [await said(connection, "environment", name=name) for name in ("GIVEN", "OURS")] == [
                "yes",
                "(not set)",
            ]
            failed = await connection.call("fail", {})
            assert failed.is_error
            (picture,) = content_of(await connection.call("show", {}))
            assert isinstance(picture, ImageContent)
            await connection.call("count", {"to": 3}, Caller(told=lambda *given: told.append(given)))
            assert told[-1] == (3, 3, "at 3")
            before = int(await said(connection, "process"))
            with pytest.raises(
                ToolError, match="'demo' has gone away during the call: whether it took effect is unknown"
            ):
                await connection.call("die", {})
            assert await said(connection, "add", a=2, b=5) == "7"
            after = int(await said(connection, "process"))
            with anyio.move_on_after(0.2):
                await connection.call("wait", {})
            assert await said(connection, "add", a=1, b=1) == "2", "a call that was cut leaves it as it was"
    assert not psutil.pid_exists(before)
    assert not psutil.pid_exists(after)


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (MCPServer(command="no-such-program"), "there is no program 'no-such-program': install it"),
        (script("echo oops >&2; exit 3"), "oops"),
        (script("sleep 60", connect_timeout=0.5), "did not answer within 0.5 s"),
        (script("while :; do echo garbage; done", connect_timeout=1), "did not answer within 1 s"),
        (MCPServer(url="http://127.0.0.1:1/mcp"), "ConnectError"),
    ],
)
async def test_one_that_is_not_there_says_why_and_leaves_nothing(server: MCPServer, says: str) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with anyio.fail_after(SECONDS):
        async with connected("bad", server) as connection:
            assert says in (await connection.ready()).problem
            with pytest.raises(ToolError, match="the MCP server 'bad' is not there"):
                await connection.call("add", {})
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


@pytest.mark.parametrize(("path", "more"), [("mcp", ()), ("sse", ("sse",))])
async def test_over_http_it_dies_and_comes_back(
    path: str, more: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    server = MCPServer(url=f"http://127.0.0.1:{port}/{path}", transport="sse" if more else None)
    with anyio.fail_after(SECONDS):
        async with served(port, "tests.mcp.server", *more) as process:
            async with connected("web", server) as connection:
                assert "add" in {tool.name for tool in (await connection.ready()).listed.tools}
                assert await said(connection, "add", a=1, b=2) == "3"
                with pytest.raises(ToolError, match="'web'"):
                    await connection.call("wait", {}, Caller(told=lambda *how_far: process.kill()))
                with pytest.raises(ToolError, match="'web'"):
                    await connection.call("add", {"a": 1, "b": 2})
                async with served(port, "tests.mcp.server", *more):
                    assert await said(connection, "add", a=2, b=2) == "4"
    assert not [record for record in caplog.records if record.exc_info], "the connection has told why"


async def test_a_process_is_shared_as_far_as_it_may_be() -> None:
    shared = MCPServer(command=DEMO.command, args=DEMO.args, cwd=DEMO.cwd, shared=True)
    with anyio.fail_after(SECONDS):
        async with Connections() as connections:
            for server, same in ((DEMO, False), (shared, True)):
                async with (
                    connections.use("demo", server, Whose("one", owner="ada", workspace="/")) as one,
                    connections.use("demo", server, Whose("child", above="one", owner="ada")) as child,
                    connections.use("demo", server, Whose("two", owner="ada")) as two,
                    connections.use("demo", server, Whose("three", owner="bob")) as three,
                ):
                    assert one is child
                    assert (one is two) is same
                    assert one is not three


@pytest.mark.parametrize("keeps", [False, True])
async def test_over_http_one_connection_serves_an_owner_unless_the_server_keeps_something(keeps: bool) -> None:
    port = free_port()
    way = "sse" if keeps else "http"
    server = MCPServer(url=f"http://127.0.0.1:{port}/{'sse' if keeps else 'mcp'}", transport=way)
    with anyio.fail_after(SECONDS):
        async with served(port, "tests.mcp.server", way), Connections() as connections:
            async with (
                connections.use("web", server, Whose("one", owner="ada")) as one,
                connections.use("web", server, Whose("child", above="one", owner="ada")) as child,
                connections.use("web", server, Whose("two", owner="ada")) as two,
                connections.use(
                    "site", replace(server, include=("add",), timeout=9), Whose("two", owner="ada")
                ) as site,
                connections.use("web", replace(server, auth="token"), Whose("two", owner="ada")) as known,
                connections.use("web", server, Whose("three", owner="bob")) as three,
            ):
                assert one is child
                assert (one is two) is not keeps
                assert two is site, "its address is the same, and what it is shown"
                assert one not in (three, known)
                with pytest.raises(ToolError, match=r"rest of site gave no answer in 0\.1 s"):
                    await site.call("rest", {"seconds": 20}, Caller("site", 0.1))
                assert {(await each.ready()).has_session for each in (one, two, three)} == {keeps}
            async with (
                connections.use("web", server, Whose("child", above="one", owner="ada")) as alone,
                connections.use("web", server, Whose("one", owner="ada")) as again,
            ):
                assert not {alone, again} & {one, two, three, known}, "those are closed"
                assert (alone is again) is not keeps, "the tree is not known any more"


async def test_an_idle_session_over_http_is_closed_and_comes_back() -> None:
    port = free_port()
    server = MCPServer(url=f"http://127.0.0.1:{port}/mcp", idle_timeout=0.2)
    with anyio.fail_after(SECONDS):
        async with served(port), connected("web", server) as connection:
            await connection.ready()
            for _ in range(2):
                await eventually(lambda: not connection.open, "it is closed")
                assert connection.standing.ready, "its tools are offered all the same"
                assert await said(connection, "add", a=1, b=2) == "3"
            slow = await connection.call("rest", {"seconds": 0.5})
            assert not slow.is_error, "a call that runs is no idleness"


async def test_credentials_are_shown() -> None:
    port = free_port()
    given: list[tuple[dict[str, Any] | str, tuple[str, str]]] = [
        ("token-1", ("authorization", "Bearer token-1")),
        ({"type": "bearer", "token": "token-2"}, ("authorization", "Bearer token-2")),
        ({"type": "key", "value": "key-1"}, ("x-api-key", "key-1")),
        ({"type": "key", "value": "key-2", "header": "X-Mine"}, ("x-mine", "key-2")),
        ({"type": "basic", "username": "ada", "password": "secret"}, ("authorization", "Basic YWRhOnNlY3JldA==")),
    ]
    with anyio.fail_after(SECONDS):
        async with served(port):
            for auth, (header, value) in given:
                server = MCPServer(url=f"http://127.0.0.1:{port}/mcp", auth=auth)  # type: ignore[arg-type]
                async with connected("web", server) as connection:
                    assert await said(connection, "header", name=header) == value
