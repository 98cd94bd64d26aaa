"""The security actor: what a command runs is rated by what is in it."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

import pytest

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, SecurityRisk
from agentrt.actors.security import MAX_SCRIPT
from agentrt.events import RiskAssessed
from agentrt.specs import Tool
from agentrt.testing import ScriptedLLM, call, calls, say

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"), Tool("file_editor")), confirmation=ConfirmRisky())
BAD = "rm -rf ~/Documents\n"
ENCODED = base64.b64encode(BAD.encode()).decode()


async def rated(folder: Path, *commands: str) -> tuple[SecurityRisk, ExecutionStatus]:
    """How the last of some commands is rated, each in a call of its own, and where the run then stands."""
    turns = [*(call("terminal", command=command) for command in commands), say("Done.")]
    async with Conversation(AGENT, folder, store=folder.parent / "store", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
        return [e for e in events if isinstance(e, RiskAssessed)][-1].risk, conversation.state.status


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("written", "run"),
    [
        (f"cat > x.sh <<'E'\n{BAD}E", "bash x.sh"),
        (f"cat > x.sh <<'E'\n{BAD}E\nchmod +x x.sh", "./x.sh"),
        (f"cat > x.sh <<'E'\n{BAD}E", ". ./x.sh"),
        (f"echo {ENCODED} | base64 -d > x.sh", "sh x.sh"),
        (f"printf '%s\\n' 'bash y.sh' > x.sh; printf '%s' '{BAD.strip()}' > y.sh", "bash x.sh"),
        (f"printf 'all:\\n\\t@{BAD.strip()}\\n' > Makefile", "make"),
        (f"mkdir a; printf 'all:\\n\\t-cd x && \\\\\\n\\t{BAD.strip()}\\n' > a/Makefile", "make -C a"),
        (f'echo \'{{"scripts": {{"pretest": "{BAD.strip()}", "test": "true"}}}}\' > package.json', "npm test"),
        (f'echo \'{{"scripts": {{"x": "{BAD.strip()}"}}}}\' > package.json', "yarn x"),
        *(
            ("cat > x.py <<'E'\nimport shutil\nshutil.rmtree('/home/me')\nE", runs)
            for runs in ("python3 x.py", "uv run x.py", "python3 -m x", "python3 -c 'import x'", "pytest x.py::test_it")
        ),
    ],
)
async def test_a_script_that_was_written_before_is_rated_by_what_is_in_it(
    workspace: Path, written: str, run: str
) -> None:
    assert await rated(workspace, written, run) == (SecurityRisk.HIGH, ExecutionStatus.WAITING_FOR_CONFIRMATION)


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("printf 'echo fine\\n' > x.sh", "bash x.sh"),
        ("printf 'import os\\nprint(os.getcwd())\\n' > x.py", "python3 x.py"),
        ("true", "bash not-there.sh"),
        ("printf 'CC = gcc\\nall: x.o\\n\\t$(CC) -o x $^ && ./x $(ARGS)\\n' > Makefile", "make -n"),
        ('echo \'{"scripts": {"test": "jest --ci && eslint ."}}\' > package.json', "npm run lint; npm test || true"),
        ("echo '{' > package.json", "npm run x || true"),
        ("mkfifo x.sh", "bash -n x.sh < /dev/null & true"),
    ],
)
async def test_a_harmless_one_asks_nobody(workspace: Path, written: str, run: str) -> None:
    risk, status = await rated(workspace, written, run)
    assert risk in (SecurityRisk.LOW, SecurityRisk.MEDIUM)
    assert status is ExecutionStatus.FINISHED


@pytest.mark.parametrize("goes", ["true\ncd ..", "true; pushd ..", "true\n. ./x.sh"])
async def test_after_a_command_that_may_go_elsewhere_nobody_knows_where_the_next_of_the_batch_is(
    workspace: Path, goes: str
) -> None:
    turns = [calls(("terminal", {"command": goes}), ("terminal", {"command": "rm -rf Documents"})), say("Done.")]
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
        assert [e for e in events if isinstance(e, RiskAssessed)][1].risk is SecurityRisk.HIGH


async def test_what_was_there_long_before_is_trusted_as_it_was(workspace: Path) -> None:
    script = workspace / "clean.sh"
    script.write_text("echo rm -rf ~/Documents; true || rm -rf ~/Documents\n")
    os.utime(script, (time.time() - 10 * 86_400,) * 2)
    assert (await rated(workspace, "bash clean.sh"))[0] is SecurityRisk.LOW


async def test_what_is_no_text_or_too_long_is_not_read(workspace: Path) -> None:
    (workspace / "program").write_bytes(b"\x7fELF\xff\xfe")
    (workspace / "long.sh").write_text("true\n" * MAX_SCRIPT)
    assert (await rated(workspace, "./program; bash long.sh"))[0] is SecurityRisk.LOW
