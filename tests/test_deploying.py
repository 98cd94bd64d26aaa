"""The scripts and the unit of the page "Deploying", as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Limits, Runtime, Tool
from agentrt.protocols import ModelRequest
from agentrt.storage import conversations
from agentrt.storage.checking import verify
from agentrt.testing import ScriptedLLM, call, finish

pytestmark = pytest.mark.real

PAGE = Path(__file__).parent.parent / "docs" / "deploying.md"
STEPS = 60
LONG = "x" * 50_000
"""What a command prints: more than stands in an event, so that the rest is kept beside the log."""


def shown(name: str) -> str:
    """The file of that name on the page, whose first or second line has its name."""
    blocks = re.findall(r"```\w*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(str(block) for block in blocks if name in "".join(block.splitlines(keepends=True)[:2]))


def script(name: str, place: Path) -> Path:
    """The script, and beside it the command that it uses."""
    path = place / name
    path.write_text(shown(name))
    path.chmod(0o755)
    command = place / "agentrt"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m agentrt "$@"\n')
    command.chmod(0o755)
    return path


async def ran(path: Path, *words: Path) -> tuple[int, str]:
    """The exit code of a script, and what it says."""
    environment = os.environ | {"PATH": f"{path.parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = await anyio.run_process(
        [str(path), *map(str, words)], env=environment, check=False, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode()


needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync")


@needs_rsync
async def test_a_store_that_is_written_is_backed_up_and_restored(tmp_path: Path) -> None:
    """Copies begin while the agent works; what they have is the beginning of what the log has in the end."""
    backup, restore = script("backup.sh", tmp_path), script("restore.sh", tmp_path)
    store, backups, workspace = (tmp_path / name for name in ("store", "backups", "workspace"))
    for place in (backups, workspace):
        place.mkdir()
    working = anyio.Event()

    def turn(request: ModelRequest) -> object:
        number = sum(message.role == "assistant" for message in request.messages)
        if number == 5:
            working.set()
        if number < STEPS:
            return call("terminal", command=f"echo {number} > file.txt; printf '%s' {LONG if number % 5 == 0 else ''}")
        return finish("Done.")

    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), limits=Limits(max_steps=STEPS + 1), stuck=None)
    async with Runtime(store, client=ScriptedLLM(turn)) as runtime:  # type: ignore[arg-type]
        async with Conversation(agent, workspace, runtime=runtime) as conversation:
            await conversation.send_message("Work.")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_run, conversation)
                await working.wait()
                code, said = await ran(backup, store, backups)
                assert "torn" in said or code == 0, said
            written = [event async for event in conversation.events()]
    (copy,) = backups.iterdir()
    (copied,) = conversations(copy)
    verdict = verify(copied)
    assert (verdict.damage, verdict.missing) == (None, ())
    assert 10 < verdict.events < len(written)

    code, said = await ran(restore, copy, store)
    assert code == 0 or "torn" in said, said
    assert [path.name.partition("-")[0] for path in tmp_path.glob("store.*")] == ["store.before"]
    async with Runtime(store, client=ScriptedLLM([finish("Again.")])) as runtime:
        async with Conversation(id=conversation.id, runtime=runtime) as again:
            restored = [event async for event in again.events(after=0)]
            assert [event.id for event in restored[: verdict.events]] == [
                event.id for event in written[: verdict.events]
            ]
            assert len(restored) <= verdict.events + 10


async def _run(conversation: Conversation) -> None:
    await conversation.run()


@needs_rsync
async def test_a_second_backup_shares_what_has_not_changed(tmp_path: Path) -> None:
    backup = script("backup.sh", tmp_path)
    store, backups = tmp_path / "store", tmp_path / "backups"
    backups.mkdir()
    async with Runtime(store, client=ScriptedLLM([finish("Done.")])) as runtime:
        async with Conversation(Agent(llm=LLM(model="scripted")), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("Work.")
            await conversation.run()
    assert (await ran(backup, store, backups))[0] == 0
    (first,) = backups.iterdir()
    older = first.rename(backups / "2000-01-01T000000Z")
    assert (await ran(backup, store, backups))[0] == 0
    newer = next(path for path in backups.iterdir() if path != older)
    logs = [place / "conversations" / conversation.id / "events.jsonl" for place in (older, newer)]
    assert logs[0].samefile(logs[1])
    assert not list(newer.glob("catalogue*"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """But for what is not here: the program, and the user."""
    unit = tmp_path / "agentrt.service"
    unit.write_text(shown("agentrt.service").replace("/opt/agentrt/bin/agentrt", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    problems = [line for line in done.stderr.splitlines() if "agentrt.service" in line]
    assert (done.returncode, problems) == (0, []), done.stderr
