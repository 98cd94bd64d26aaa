"""A conversation in a box: its terminal, file tools, searches and cells see the same, and its files are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, Hook, HookEvent, LocalWorkspace, NeverConfirm, Runtime, Tool
from agentrt.events import AgentErrorEvent, ObservationEvent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from tests.files_kept import in_time

pytestmark = pytest.mark.real

TOOLS = ("terminal", "file_editor", "grep", "ipython")

AGENT = Agent(llm=LLM(model="scripted"), tools=tuple(map(Tool, TOOLS)), confirmation=NeverConfirm())


async def results(talk: Conversation) -> list[str]:
    """What the calls of a conversation came to, as the model sees it."""
    found = list[str]()
    async for event in talk.events():
        if isinstance(event, ObservationEvent):
            found.append(plain(event.content))
        elif isinstance(event, AgentErrorEvent):
            found.append(event.error)
    return found


async def test_all_of_its_tools_are_in_the_box(tmp_path: Path) -> None:
    work, secret, store = tmp_path / "work", tmp_path / "secret.key", tmp_path / "store"
    work.mkdir()
    secret.write_text("tweet-7c1e")
    (work / "a.txt").write_text("one\n")
    model = ScriptedLLM(
        [
            call("terminal", command=f"cat {secret} {store}/*/*; echo two > a.txt; echo note > /tmp/note; (exit 3)"),
            call("file_editor", command="view", path=str(secret)),
            call("file_editor", command="view", path="/tmp/note"),
            call("grep", pattern="note", path="/tmp"),
            call("grep", pattern="tweet", path=str(tmp_path)),
            call("ipython", code=f"print(open('/tmp/note').read()); open({str(secret)!r})"),
            finish("Done."),
        ]
    )
    workspace = LocalWorkspace(str(work), confine="require")
    async with Runtime(store, client=model, recast=in_time) as runtime:
        async with Conversation(AGENT, workspace, runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            name = talk.id
            said = await results(talk)
            assert (work / "a.txt").read_text() == "two\n"
            await talk.rewind(began, files=True)
            assert (work / "a.txt").read_text() == "one\n"
        async with Conversation(id=name, runtime=runtime) as again:
            assert again.state.created is not None
            assert again.state.created.workspace == workspace
    assert "[exit code 3" in said[0]
    assert "note" in said[2]
    assert "note" in said[3]
    assert "note" in said[5]
    assert "FileNotFoundError" in said[5]
    assert not any("tweet" in one for one in said[:4] + said[5:])
    assert "tweet-7c1e" not in said[4]


SERVER = """
import sys
from mcp.server import MCPServer
for path in sys.argv[1:]:
    try:
        open(path, "w").write("was here")
    except OSError:
        pass
server = MCPServer("demo")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

server.run("stdio")
"""


@pytest.mark.parametrize("confined", [None, True, False])
@pytest.mark.parametrize("where", ["workspace", "elsewhere"])
async def test_a_server_is_in_the_box_if_the_workspace_has_it(
    tmp_path: Path, where: str, confined: bool | None
) -> None:
    """Unless a person says otherwise. A file elsewhere is not seen from the box."""
    for name in ("workspace", "elsewhere"):
        (tmp_path / name).mkdir()
    inside, canary = tmp_path / "workspace/started", tmp_path / "canary"
    (program := tmp_path / where / "serve.py").write_text(SERVER)
    server: dict[str, object] = {"command": sys.executable, "args": [str(program), str(inside), str(canary)]}
    if confined is not None:
        server["confined"] = confined
    agent = Agent(llm=LLM(model="scripted"), mcp_servers={"demo": server})
    workspace = LocalWorkspace(str(tmp_path / "workspace"), confine="require")
    model = ScriptedLLM([call("add", a=1, b=2), finish("Done.")])
    async with Conversation(agent, workspace, store=tmp_path / "store", client=model) as talk:
        await talk.prompt("go")
        said = await results(talk)
    is_free = confined is False or (confined is None and where == "elsewhere")
    is_there = is_free or where == "workspace"
    assert (said[0] == "3") is is_there, said
    assert inside.exists() is is_there
    assert canary.exists() is is_free


@pytest.mark.parametrize(
    ("command", "confined", "is_free"),
    [
        ("touch ran; touch {canary}", None, False),
        ("sh ./hook.sh", None, False),
        ("make -s", None, False),
        ("/usr/bin/env sh hook.sh", None, False),
        ("{own} x", None, True),
        ("touch ran; touch {canary}", False, True),
        ("{own} x", True, False),
    ],
)
async def test_a_hook_is_in_the_box_unless_it_is_one_program_of_a_persons_own(
    tmp_path: Path, command: str, confined: bool | None, is_free: bool
) -> None:
    (work := tmp_path / "work").mkdir()
    canary, own = tmp_path / "canary", tmp_path / "own.sh"
    own.write_text(f"#!/bin/sh\ntouch ran; touch {canary}\n")
    own.chmod(0o755)
    (work / "hook.sh").write_text(f"touch ran; touch {canary}; exit 0\n")
    (work / "Makefile").write_text(f"all:\n\ttouch ran; touch {canary}\n")
    hook = Hook(
        event=HookEvent.STOP, command=command.format(canary=canary, own=own), confined=confined, on_failure="ignore"
    )
    agent = Agent(llm=LLM(model="scripted"), hooks=(hook,))
    workspace = LocalWorkspace(str(work), confine="require")
    async with Conversation(agent, workspace, store="memory://", client=ScriptedLLM([finish("Done.")])) as talk:
        await talk.prompt("go")
    assert canary.exists() is is_free
    assert (work / "ran").exists() or confined is True
