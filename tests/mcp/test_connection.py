"""Connections to real servers: a process, and one over HTTP."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt.errors import ToolError
from agentrt.mcp.connection import Caller, Connection, connected
from agentrt.mcp.connections import Connections, Whose
from agentrt.mcp.results import content_of
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.specs.mcp import MCPServer
from tests.proofs.waiting import eventually

ROOT = Path(__file__).parent.parent.parent
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
            assert {"add", "die", "show"} <= {tool.name for tool in standing.tools}
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
            await connection.call("count", {"to": 3}, Caller(lambda *given: told.append(given)))
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


@asynccontextmanager
async def served(port: int) -> AsyncIterator[anyio.abc.Process]:
    """The demo over HTTP."""
    command = [sys.executable, "-m", "tests.mcp.server", str(port)]
    async with await anyio.open_process(command, cwd=ROOT, stdout=None, stderr=None) as process:
        try:
            await eventually(lambda: _listens(port), "it listens", SECONDS)
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def test_over_http_it_dies_and_comes_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with anyio.fail_after(SECONDS):
        async with served(port) as process:
            async with connected("web", MCPServer(url=f"http://127.0.0.1:{port}/mcp")) as connection:
                assert "add" in {tool.name for tool in (await connection.ready()).tools}
                assert await said(connection, "add", a=1, b=2) == "3"
                with pytest.raises(ToolError, match="'web'"):
                    await connection.call("wait", {}, Caller(told=lambda *how_far: process.kill()))
                with pytest.raises(ToolError, match="'web'"):
                    await connection.call("add", {"a": 1, "b": 2})
                async with served(port):
                    assert await said(connection, "add", a=2, b=2) == "4"


async def _listens(port: int) -> bool:
    try:
        await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
    except OSError:
        return False
    return True


async def test_a_process_is_shared_as_far_as_it_may_be() -> None:
    shared = MCPServer(command=DEMO.command, args=DEMO.args, cwd=DEMO.cwd, shared=True)
    with anyio.fail_after(SECONDS):
        async with Connections() as connections:
            for server, same in ((DEMO, False), (shared, True)):
                async with (
                    connections.use("demo", server, Whose("one", owner="ada")) as one,
                    connections.use("demo", server, Whose("child", above="one", owner="ada")) as child,
                    connections.use("demo", server, Whose("two", owner="ada")) as two,
                    connections.use("demo", server, Whose("three", owner="bob")) as three,
                ):
                    assert one is child
                    assert (one is two) is same
                    assert one is not three
