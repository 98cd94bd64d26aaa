"""`agentrt mcp`, with real servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from click.testing import CliRunner

from agentrt.cli.mcp import mcp
from agentrt.errors import ConfigurationError
from mcp import Client, StdioServerParameters
from tests.mcp.serving import free_port, listens
from tests.mcp.warm import ROOT, server_of, warm
from tests.proofs.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]


@pytest.fixture
def file(tmp_path: Path) -> str:
    servers = {
        "demo": server_of(),
        "gone": {"command": "no-such-program"},
        "web": {"url": "http://127.0.0.1:1/${PATH_OF_IT}", "headers": {"X": "${OPTIONAL:-y}"}},
        "off": {"command": "x", "disabled": True, "alwaysAllow": ["y"], "note": "z"},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def test_the_servers_are_listed_with_what_they_need(file: str) -> None:
    ran = CliRunner().invoke(mcp, ["list", "--mcp", file], env={"COLUMNS": "200"})
    assert ran.exit_code == 0, ran.output
    assert "PATH_OF_IT, OPTIONAL (not set: PATH_OF_IT)" in ran.output
    assert "disabled" in ran.output
    told = "! off has fields that are not used here: alwaysAllow, note. Rules approve calls in advance"
    assert ran.output.count(told) == 1


def test_each_is_tried_and_what_failed_says_why(file: str) -> None:
    ran = CliRunner().invoke(mcp, ["test", "--mcp", file], env={"COLUMNS": "200"})
    assert ran.exit_code == 1
    assert "✓ demo: 19 tools" in ran.output
    assert "add  Add two numbers." in ran.output
    assert "✗ gone: there is no program 'no-such-program': install it" in ran.output
    assert "✗ web: it needs PATH_OF_IT" in ran.output
    assert CliRunner().invoke(mcp, ["test", "--mcp", file, "demo"]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [(["list"], "name a file of them with --mcp FILE"), (["test", "nobody"], "unknown server 'nobody'")],
)
def test_what_cannot_be_is_one_line(file: str, words: list[str], says: str) -> None:
    given = [*words, "--mcp", file] if len(words) > 1 else words
    ran = CliRunner().invoke(mcp, given)
    assert ran.exit_code == 2
    assert says in ran.output


@pytest.mark.parametrize("words", [["mcp"], ["mcp", "serve"]])
async def test_conversations_are_served_to_another_agent(tmp_path: Path, words: list[str]) -> None:
    """Standard output has nothing but the protocol, whatever is printed."""
    environment = {**os.environ, "HOME": str(tmp_path), "AGENTRT_STORE": str(tmp_path / "store")}
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "agentrt", *words], env=environment, cwd=str(tmp_path)
    )
    with anyio.fail_after(40):
        async with Client(program) as client:
            assert "start_conversation" in {tool.name for tool in (await client.list_tools()).tools}
            listed = await client.call_tool("list_conversations", {})
            assert listed.structured_content == {"conversations": []}
            refused = await client.call_tool("start_conversation", {"task": "x", "workspace": "/nowhere"})
            assert refused.is_error


@pytest.mark.long
def test_a_login_is_of_use_to_the_other_commands_until_the_logout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    port = free_port()
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"web": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}}))
    given = ["--mcp", str(path), "--store", str(tmp_path / "store")]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentrt", "mcp", *words, *given]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def log_in() -> str:
        command = [sys.executable, "-m", "agentrt", "mcp", "login", "web", "--no-browser", *given]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert "log in at web" in process.stdout.readline()
            httpx2.get(process.stdout.readline().strip(), follow_redirects=True).raise_for_status()
            assert process.wait(30) == 0
            return process.stdout.read()

    command = warm("tests.mcp.authorized", str(port))
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            anyio.run(eventually, lambda: listens(port), "it listens", 30)
            tried = run("test")
            assert tried.returncode == 1
            assert "✗ web: " in tried.stdout
            assert "it wants a login: use 'agentrt mcp login" in tried.stdout
            assert "Traceback" not in tried.stderr, tried.stderr
            assert log_in() == "You are logged in at web.\n"
            assert "✓ web: 5 tools" in run("test").stdout
            assert "it wants a login" in run("test", "--owner", "bob").stdout
            assert run("logout", "web").stdout == "You are logged out at web.\n"
            assert "nobody is logged in at web" in run("logout", "web").stderr
        finally:
            server.kill()


def test_a_login_where_there_is_none_says_so(file: str) -> None:
    ran = CliRunner().invoke(mcp, ["login", "demo", "--mcp", file])
    assert isinstance(ran.exception, ConfigurationError)
    assert "no login at demo: it takes no login" in str(ran.exception)
