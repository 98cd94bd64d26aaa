"""A conversation in a box: its terminal, file tools, searches and cells see the same, and its files are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, LocalWorkspace, NeverConfirm, Runtime, Tool
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
