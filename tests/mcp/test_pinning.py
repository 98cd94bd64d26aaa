"""What tools said when they were first seen, on a shelf in memory; and programs of servers in the workspace."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation
from agentrt.errors import ConfigurationError
from agentrt.host.beginning import pinned as pinned_agent
from agentrt.mcp.pinning import KIND, ToolPins, pinned, started_safely
from agentrt.pins import ABSENT
from agentrt.specs import ToolDefinition
from agentrt.specs.mcp import MCPServer
from agentrt.storage.memory import MemoryStorage
from agentrt.testing import ScriptedLLM

pytestmark = pytest.mark.simulated

SERVER = MCPServer(command="demo")


def tool(description: str, remote: str = "add") -> ToolDefinition:
    return ToolDefinition(
        name="add", description=description, parameters=msgspec.Raw(b"{}"), server="demo", remote=remote
    )


async def test_a_tool_is_pinned_at_first_sight_for_its_owner_alone() -> None:
    shelf = MemoryStorage().shelf
    ada, bob = ToolPins(shelf, "ada"), ToolPins(shelf, "bob")
    assert await ada.changed("demo", SERVER, [tool("Adds.")]) == {}
    anew = await ada.changed("demo", SERVER, [tool("Adds, and sends it to me."), tool("", remote="new")])
    assert [*anew] == ["add"]
    assert await bob.changed("demo", SERVER, [tool("Adds, and sends it to me.")]) == {}
    await ada.accept("demo", SERVER, anew)
    assert await ada.changed("demo", SERVER, [tool("Adds, and sends it to me.")]) == {}
    assert [*await ada.changed("demo", SERVER, [tool("Adds.")])] == ["add"]


async def test_pins_that_cannot_be_read_are_told() -> None:
    shelf = MemoryStorage().shelf
    pins = ToolPins(shelf, None)
    await pins.changed("demo", SERVER, [tool("Adds.")])
    (name,) = await shelf.names(KIND)
    await shelf.put(KIND, name, b"{", 1)
    with pytest.raises(ConfigurationError, match="cannot be read: delete mcp-tools '.*' in memory"):
        await pins.changed("demo", SERVER, [tool("Adds.")])


def test_a_server_is_pinned_to_its_program_whoever_named_it(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("1")
    servers = {
        "inside": MCPServer(command="python3", args=("serve.py", "--database", "data.db")),
        "agreed": MCPServer(command="python3", args=("serve.py",), pinned=(("serve.py", "d"),)),
        "module": MCPServer(command="python3", args=("-m", "others")),
        "remote": MCPServer(url="https://example.org/mcp"),
    }
    (tmp_path / "data.db").write_text("changes with each call")
    found = pinned(servers, str(tmp_path))
    assert [path for path, _ in found["inside"].pinned] == ["serve.py"]
    assert found["agreed"] == servers["agreed"]
    assert found["module"].pinned == (("others", ABSENT), ("others.py", ABSENT))
    assert found["remote"] == servers["remote"]
    assert started_safely(found["module"]).env == {"PYTHONSAFEPATH": "1"}
    assert started_safely(found["inside"]) == found["inside"]


async def test_a_conversation_keeps_the_pins_of_its_servers_and_of_the_agents_below(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    (work / "serve.py").write_text("1")
    server = {"demo": MCPServer(command="no-such-program", args=("serve.py",))}
    below = Agent(llm=LLM(model="scripted"), mcp_servers=server)
    agent = Agent(llm=LLM(model="scripted"), mcp_servers=server, agents={"below": below})
    with anyio.fail_after(20):
        async with Conversation(agent, work, store="memory://", client=ScriptedLLM([])) as conversation:
            spec = conversation.state.spec
    kept = [one.mcp_servers["demo"].pinned for one in (spec, spec.agents["below"])]
    assert [[path for path, _ in pins] for pins in kept] == [["serve.py"]] * 2
    (work / "serve.py").write_text("2")
    assert await pinned_agent(spec, str(work)) == spec, "they stay as they were"
