"""`agentrt mcp`, with real servers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from agentrt.cli.mcp import mcp
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def file(tmp_path: Path) -> str:
    servers = {
        "demo": {"command": sys.executable, "args": ["-m", "tests.mcp.server"], "cwd": str(ROOT)},
        "gone": {"command": "no-such-program"},
        "web": {"url": "http://127.0.0.1:1/${PATH_OF_IT}", "headers": {"X": "${OPTIONAL:-y}"}},
        "off": {"command": "x", "disabled": True},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def test_the_servers_are_listed_with_what_they_need(file: str) -> None:
    ran = CliRunner().invoke(mcp, ["list", "--mcp", file], env={"COLUMNS": "200"})
    assert ran.exit_code == 0, ran.output
    assert "PATH_OF_IT, OPTIONAL (not set: PATH_OF_IT)" in ran.output
    assert "disabled" in ran.output


def test_each_is_tried_and_what_failed_says_why(file: str) -> None:
    ran = CliRunner().invoke(mcp, ["test", "--mcp", file], env={"COLUMNS": "200"})
    assert ran.exit_code == 1
    assert "✓ demo: 14 tools" in ran.output
    assert "add  Add two numbers." in ran.output
    assert "✗ gone: there is no program 'no-such-program': install it" in ran.output
    assert "✗ web: it needs PATH_OF_IT" in ran.output
    assert CliRunner().invoke(mcp, ["test", "--mcp", file, "demo"]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [(["list"], "name a file of them with --mcp FILE"), (["test", "nobody"], "there is no server 'nobody'")],
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
