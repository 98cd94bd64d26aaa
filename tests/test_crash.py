"""What is left of a conversation whose process was killed, and what becomes of it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import anyio
import psutil
import pytest
from click.testing import CliRunner

from agentrt import Conversation, Runtime
from agentrt.cli.main import commands
from agentrt.events import ResourceLost
from agentrt.server.principals import EVERYONE
from agentrt.storage import FileStore
from agentrt.testing import ScriptedLLM, say
from tests.proofs.waiting import eventually
from tests.server.served import served

pytestmark = pytest.mark.real

PROGRAM = """
import sys
from pathlib import Path
import anyio
from agentrt import LLM, Agent, Conversation, LocalWorkspace, Runtime, Tool
from agentrt.testing import ScriptedLLM, call

async def main(folder):
    turns = [
        call("terminal", command="setsid sleep 307 & (setsid sleep 308 &)"),
        call("terminal", command="touch begun; sleep 300"),
    ]
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    async with Runtime(folder / "store", client=ScriptedLLM(turns)) as runtime:
        workspace = LocalWorkspace(str(folder), confine="off")
        async with Conversation(agent, workspace, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()

anyio.run(main, Path(sys.argv[1]))
"""


def sleepers(folder: Path) -> list[psutil.Process]:
    """What the conversation of a folder started in the background, as long as it lives."""
    known = (["sleep", "307"], ["sleep", "308"])
    found = [p for p in psutil.process_iter(["cmdline", "cwd"]) if p.info["cmdline"] in known]
    return [p for p in found if p.info["cwd"] == str(folder) and p.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
async def killed(tmp_path: Path) -> Path:
    """A folder whose conversation's process was killed while a command ran.

    Its temporary files are in the folder: a runtime that another test begins would end what it has left.
    """
    program, environment = [sys.executable, "-c", PROGRAM, str(tmp_path)], {**os.environ, "TMPDIR": str(tmp_path)}
    async with await anyio.open_process(program, env=environment) as process:
        await eventually(lambda: (tmp_path / "begun").exists(), "the second command runs", 30)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    return tmp_path


async def test_it_is_listed_as_interrupted_by_a_crash_until_it_is_opened(killed: Path) -> None:
    store = str(killed / "store")

    async def listed_as(*status: str) -> str:
        words = ["list", *status, "--store", store]
        return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(commands, words).output)

    listed = await listed_as()
    assert "interrupted by a crash" in listed
    assert "running" not in listed
    assert "c " in await listed_as("--status", "crashed")
    assert "no conversation is running" in await listed_as("--status", "running")
    async with FileStore(killed / "store") as other:
        (row,) = await other.listing.page()
        assert row.status == "crashed"
        await other.open("c", lambda event: None)
        (row,) = await other.listing.page()
        assert row.status == "running", "somebody has it open"
    async with Runtime(killed / "store", client=ScriptedLLM([say("Well.")])) as runtime:
        async with Conversation(id="c", runtime=runtime):
            pass
        (row,) = await runtime.store.listing.page()
        assert row.status == "paused"


async def test_what_its_shell_had_started_is_ended_when_it_is_opened_again(killed: Path) -> None:
    assert len(sleepers(killed)) == 2, "they outlived the process"
    async with Runtime(killed / "store", client=ScriptedLLM([say("Well.")])) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert sleepers(killed) == []
            (lost,) = [event async for event in conversation.events() if isinstance(event, ResourceLost)]
    assert "the processes that it had started were ended" in lost.detail


async def test_a_copy_of_its_store_ends_nothing_of_it(killed: Path) -> None:
    shutil.copytree(killed / "store" / "conversations", killed / "copy" / "conversations")
    async with Runtime(killed / "copy", client=ScriptedLLM([say("Well.")])) as runtime:
        async with Conversation(id="c", runtime=runtime):
            assert len(sleepers(killed)) == 2
    for left in sleepers(killed):
        left.kill()


async def test_a_server_shows_it_so_as_well(killed: Path) -> None:
    """Until it is opened, which a server does with all that it finds when it starts."""
    (killed / "other").mkdir()
    async with served(killed / "other", ScriptedLLM([])) as client:
        shutil.copytree(killed / "store" / "conversations" / "c", killed / "other/store/conversations/c")
        status, page = await client.ask("GET", "/conversations")
        assert status == 200
        assert [(item["status"], item["error"]["code"]) for item in page["items"]] == [("crashed", "crashed")]
        status, page = await client.ask("GET", "/conversations?status=running")
        assert (status, page["items"]) == (200, [])
    async with served(killed, ScriptedLLM([])) as client:
        conversation = await client.services.hosting.get("c", EVERYONE)
        assert conversation.state.status == "paused"
