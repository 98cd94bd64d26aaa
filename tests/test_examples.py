"""The examples run, as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from agentrt.testing import ScriptedProvider, call, say

from .sandboxes.sshd import sshd

pytestmark = pytest.mark.real

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(home: Path, name: str, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=EXAMPLES,
        env=os.environ | {"AGENTRT_HOME": str(home)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


async def test_hello(tmp_path: Path) -> None:
    async with ScriptedProvider([call("terminal", command="ls"), say("Three examples.")]) as provider:
        said = await anyio.to_thread.run_sync(run, tmp_path, "hello.py", "openai/scripted", provider.base_url)
    lines = said.splitlines()
    assert lines[0] == "4 RunRequested"
    assert lines[-1].startswith("finished - to go on: agentrt resume ")


def test_custom_tool(tmp_path: Path) -> None:
    said = run(tmp_path, "custom_tool.py")
    assert "text='100.0'" in said
    assert "5 letters so far" in said
    assert "12 letters so far" in said


def test_many(tmp_path: Path) -> None:
    assert run(tmp_path, "many.py").startswith("100 conversations of 5 steps: ")


def test_ssh_workspace(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with sshd() as server:
        said = run(tmp_path, "ssh_workspace.py", "there", str(work), *server.options)
    assert said.startswith("Linux")
    assert "It rains." in said.splitlines()
    assert (work / "notes/today.md").read_text() == "It rains.\n"


@pytest.mark.simulated
def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "hello.py",
        "custom_tool.py",
        "many.py",
        "ssh_workspace.py",
    }
