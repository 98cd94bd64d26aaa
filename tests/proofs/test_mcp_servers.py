"""Real servers that nobody here wrote, from the package registries: over stdio, streamable HTTP and SSE."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.events import ObservationEvent
from agentrt.mcp.connection import Connection, connected
from agentrt.mcp.results import content_of
from agentrt.specs.content import plain
from agentrt.specs.mcp import MCPServer
from agentrt.testing import ScriptedLLM, call, finish

from .packages import npm, pip
from .waiting import eventually

pytestmark = pytest.mark.long
SECONDS = 120


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of npm."""
    scope = "@modelcontextprotocol"
    packages = (f"{scope}/server-everything", f"{scope}/server-filesystem", "@playwright/mcp")
    return npm(tmp_path_factory.mktemp("npm"), *packages)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of PyPI."""
    return pip(tmp_path_factory.mktemp("pypi") / "venv", "mcp-server-git", "mcp-server-time")


async def said(connection: Connection, tool: str, **arguments: object) -> str:
    result = await connection.call(tool, arguments)
    assert not result.is_error, result.content
    return plain(content_of(result))


async def tried(server: MCPServer, tool: str, **arguments: object) -> tuple[str, set[str], str]:
    """The revision that is spoken, the tools that there are, and what one answers; nothing is left of a process."""
    before = set(psutil.Process().children(recursive=True))
    with anyio.fail_after(SECONDS):
        async with connected("it", server) as connection:
            standing = await connection.ready()
            assert not standing.problem, standing.problem
            answer = await said(connection, tool, **arguments)
        left = set(psutil.Process().children(recursive=True)) - before
        await eventually(lambda: not any(process.is_running() for process in left), "its processes have ended")
    return standing.protocol, {one.name for one in standing.listed.tools}, answer


def stdio(command: Path, *arguments: str) -> MCPServer:
    return MCPServer(command=str(command), args=arguments, cwd="/", connect_timeout=60)


async def test_everything(node: Path) -> None:
    protocol, tools, answer = await tried(stdio(node / "mcp-server-everything", "stdio"), "echo", message="hello")
    assert protocol < "2026", "one that speaks an older revision"
    assert "hello" in answer
    assert len(tools) > 5


async def test_filesystem(node: Path, tmp_path: Path) -> None:
    server = stdio(node / "mcp-server-filesystem", str(tmp_path))
    path = tmp_path / "made"
    _, tools, _ = await tried(server, "write_file", path=str(path), content="hello")
    assert path.read_text() == "hello"
    assert {"read_text_file", "list_directory"} <= tools


async def test_time(python: Path) -> None:
    _, _, answer = await tried(stdio(python / "mcp-server-time"), "get_current_time", timezone="Europe/Oslo")
    assert "Europe/Oslo" in answer


async def test_git(python: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new")
    server = stdio(python / "mcp-server-git", "--repository", str(tmp_path))
    _, _, answer = await tried(server, "git_status", repo_path=str(tmp_path))
    assert "new.txt" in answer


async def test_a_browser(node: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium is not None
    words = ("--executable-path", chromium, "--headless", "--no-sandbox", "--isolated")
    server = MCPServer(command=str(node / "playwright-mcp"), args=words, cwd=str(tmp_path), connect_timeout=60)
    page = "data:text/html,<title>Here</title><h1>We are here</h1>"
    with anyio.fail_after(SECONDS):
        async with connected("browser", server) as connection:
            await connection.ready()
            await said(connection, "browser_navigate", url=page)
            assert "We are here" in await said(connection, "browser_snapshot")


@contextmanager
def serving(node: Path, way: str) -> Iterator[int]:
    """The server of everything, at a port of its own; ended at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    program = subprocess.Popen(
        [str(node / "mcp-server-everything"), way],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        program.kill()
        program.wait()


async def answers(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("localhost", port):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(("way", "transport", "path"), [("streamableHttp", "http", "mcp"), ("sse", "sse", "sse")])
async def test_over_http(node: Path, way: str, transport: str, path: str) -> None:
    with serving(node, way) as port:
        await eventually(lambda: answers(port), "it listens", 60)
        server = MCPServer(url=f"http://localhost:{port}/{path}", transport=transport, connect_timeout=60)
        _, tools, answer = await tried(server, "echo", message="hello")
    assert "hello" in answer
    assert len(tools) > 5


async def test_a_conversation_with_three_of_them(node: Path, python: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    (place / "notes.txt").write_text("Buy milk.")
    servers = {
        "everything": stdio(node / "mcp-server-everything", "stdio"),
        "files": stdio(node / "mcp-server-filesystem", str(place)),
        "time": stdio(python / "mcp-server-time"),
    }
    turns = [
        call("echo", message="hello"),
        call("read_text_file", path=str(place / "notes.txt")),
        call("get_current_time", timezone="Asia/Tokyo"),
        finish("ok"),
    ]
    spec = Agent(llm=LLM(model="scripted"), mcp_servers=servers)
    with anyio.fail_after(SECONDS):
        async with (
            Runtime(tmp_path / "store", client=ScriptedLLM(turns)) as runtime,
            Conversation(spec, place, runtime=runtime) as conversation,
        ):
            await conversation.send_message("go")
            state = await conversation.run()
            events = [event async for event in conversation.events()]
    assert state.status is ExecutionStatus.FINISHED
    told = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert "hello" in told[0]
    assert "Buy milk." in told[1]
    assert "Asia/Tokyo" in told[2]
    assert not any(event.is_error for event in events if isinstance(event, ObservationEvent))
