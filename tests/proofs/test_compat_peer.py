"""The programs of tests/compat run on the OpenHands SDK itself, with only the imports changed.

`OPENHANDS_PYTHON` is the command of a Python that has it; with `chroot DIRECTORY PYTHON` it is in another root.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agentrt import Runtime
from agentrt.context.replies import ModelReply
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.testing import ScriptedProvider, call, finish, say
from tests.compat.test_openhands import PROGRAMS

PYTHON = shlex.split(os.environ.get("OPENHANDS_PYTHON", ""))
ROOT = Path(PYTHON[1] if PYTHON[:1] == ["chroot"] else "/")
SECONDS = 180

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not PYTHON, reason="OPENHANDS_PYTHON does not name a Python that has the OpenHands SDK"),
]

MODULES = {
    "openhands.sdk.conversation.state": ("ConversationExecutionStatus", "ConversationState"),
    "openhands.sdk.conversation": ("BaseConversation",),
    "openhands.sdk.security.confirmation_policy": ("AlwaysConfirm", "NeverConfirm"),
    "openhands.sdk.context": ("KeywordTrigger", "Skill"),
    "openhands.sdk.tool": ("ToolExecutor", "ToolDefinition", "Tool", "Action", "Observation", "register_tool"),
    "openhands.tools.file_editor": ("FileEditorTool",),
    "openhands.tools.task_tracker": ("TaskTrackerTool",),
    "openhands.tools.terminal": ("TerminalAction", "TerminalExecutor", "TerminalTool"),
    "openhands.tools.delegate": ("DelegationVisualizer",),
    "openhands.tools.task": ("TaskToolSet",),
    "openhands.sdk.subagent": ("register_agent",),
    "openhands.tools.preset.default": ("get_default_agent", "get_default_tools"),
    "pydantic": ("Field", "SecretStr"),
}
"""Where the names of a program are; all others are in `openhands.sdk`."""
HOME = {name: module for module, names in MODULES.items() for name in names}
IMPORT = re.compile(r"from agentrt\.compat\.openhands import (\([^)]*\)|.*)\n")


def for_peer(program: str) -> str:
    """A program with the peer's imports."""

    def imports(match: re.Match[str]) -> str:
        names = [name.strip() for name in match[1].strip("()").split(",") if name.strip()]
        return "".join(f"from {HOME.get(name, 'openhands.sdk')} import {name}\n" for name in names)

    return IMPORT.sub(imports, program)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A workspace that the peer sees."""
    with tempfile.TemporaryDirectory(dir=ROOT / "tmp") as place:
        (Path(place) / "workspace").mkdir()
        yield Path(place) / "workspace"


async def ran(name: str, directory: Path, script: Any) -> str:
    """Run a program on the peer, and return what it prints."""
    inside = Path("/", directory.relative_to(ROOT))
    (directory.parent / "program.py").write_text(for_peer((PROGRAMS / f"{name}.py").read_text()))
    (directory.parent / "sums.py").write_text(SUMS)
    async with ScriptedProvider(script) as provider:
        environment = {
            "LLM_MODEL": "openai/scripted",
            "LLM_API_KEY": "a-key-of-the-program",
            "LLM_BASE_URL": provider.base_url,
            "MCP_PYTHON": PYTHON[-1],
            "MCP_SERVER": str(inside.parent / "sums.py"),
            "HOME": str(inside.parent),
            "PATH": f"{os.defpath}:/usr/sbin:/usr/bin",
            "OPENHANDS_SUPPRESS_BANNER": "1",
        }
        code = f"import os; os.chdir({str(inside)!r}); exec(compile(open('../program.py').read(), 'program', 'exec'))"
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [*PYTHON, "-c", code], env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


SUMS = """
from fastmcp import FastMCP
server = FastMCP("sums")
@server.tool()
def add(one: int, other: int) -> int:
    return one + other
@server.tool()
def forget() -> str:
    return "forgotten"
server.run(show_banner=False)
"""


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))


async def test_hello(directory: Path) -> None:
    script = [call("terminal", command="echo one > FACTS.txt; ls"), finish("There are facts.")]
    printed = await ran("hello", directory, script)
    assert printed.splitlines()[-1] == "All done! finished"
    assert (directory / "FACTS.txt").read_text() == "one\n"


async def test_a_tool_of_the_program(directory: Path) -> None:
    (directory / "a.py").write_text("class A:\n    pass\n")
    script = [
        call("count", word="class"),
        call("terminal", command="echo 1 > COUNT.txt"),
        finish("One."),
        call("terminal", command="rm COUNT.txt"),
        finish("It is gone."),
    ]
    printed = await ran("tools", directory, script)
    assert "1 lines: ./a.py:1:class A:" in printed
    assert printed.splitlines()[-1].startswith("cost ")
    assert files(directory) == ["a.py"]


async def test_skills(directory: Path) -> None:
    printed = await ran("skills", directory, [say("I know. yay!"), say("I praise you. yay!")])
    assert printed.splitlines()[-1] == "turns 4"


async def test_confirming(directory: Path) -> None:
    script = [
        call("terminal", command="touch one"),
        call("terminal", command="touch two"),
        finish("One of them."),
        call("terminal", command="touch three"),
        finish("And the third."),
    ]
    printed = await ran("confirming", directory, script)
    assert printed.splitlines()[-1] == "done finished"
    assert files(directory) == ["one", "three"]


async def test_mcp(directory: Path) -> None:
    printed = await ran("mcp_servers", directory, [call("add", one=20, other=22), finish("42.")])
    assert printed.splitlines()[-1] == "done finished"


async def test_delegating(directory: Path) -> None:
    def script(request: dict[str, Any]) -> ModelReply:
        messages = request["messages"]
        if "Think of lodging only." in str(messages[0]):
            return finish("A boat on the canal.")
        if not any(message["role"] == "tool" for message in messages):
            return call("task", subagent_type="lodging_planner", prompt="Find a place for two nights.")
        return finish(f"Stay here: {'boat' in str(messages[-1])}")

    printed = await ran("delegating", directory, script)
    assert "Stay here: True" in printed
    assert printed.splitlines()[-1].startswith("cost ")


def test_each_program_is_run_here() -> None:
    programs = {path.stem for path in PROGRAMS.glob("*.py")} - {"sums"}
    assert programs == {"hello", "tools", "skills", "confirming", "mcp_servers", "delegating"}
    assert shutil.which(PYTHON[0]) is not None


REMOTE = """
import os, sys
from openhands.sdk.workspace import RemoteWorkspace
with RemoteWorkspace(host=os.environ["HOST"], api_key=os.environ["KEY"], working_dir=os.environ["DIRECTORY"]) as ws:
    result = ws.execute_command("pwd; echo warm >&2; exit 3", cwd=os.environ["DIRECTORY"])
    assert (result.exit_code, result.stdout, result.stderr) == (3, os.environ["DIRECTORY"] + "\\n", "warm\\n"), result
    assert not result.timeout_occurred
    late = ws.execute_command("sleep 60", timeout=1)
    assert (late.exit_code, late.timeout_occurred) == (-1, True), late
    long = ws.execute_command("seq 100000", timeout=60)
    assert long.stdout.splitlines() == [str(n) for n in range(1, 100001)], len(long.stdout)
    name = ws.start_command("sleep 300")
    ws.stop_command(name)
    assert ws.get_command_output(name)["exit_code"] == 143
    open("/tmp/sent", "w").write("sent")
    sent = ws.file_upload("/tmp/sent", os.environ["DIRECTORY"] + "/in/it")
    assert (sent.success, sent.file_size) == (True, 4), sent
    got = ws.file_download(os.environ["DIRECTORY"] + "/in/it", "/tmp/got")
    assert (got.success, open("/tmp/got").read()) == (True, "sent"), got
    assert not ws.file_download(os.environ["DIRECTORY"] + "/none", "/tmp/none").success
    assert not ws.file_download("/etc/passwd", "/tmp/none").success
    assert ws.git_changes(".") == []
    made = ws.execute_command(
        "git init -q . && echo old > a && git add a && "
        "git -c user.name=a -c user.email=a@b commit -qm a && echo new > a"
    )
    assert made.exit_code == 0, made
    assert sorted((c.status.value, str(c.path)) for c in ws.git_changes(".")) == [("ADDED", "in/it"), ("UPDATED", "a")]
    diff = ws.git_diff("a")
    assert (diff.original, diff.modified) == ("old\\n", "new\\n"), diff
    assert ws.alive
print("all held")
"""


async def test_its_client_works_with_our_server(directory: Path) -> None:
    """Commands, files and git over the wire."""
    root = directory.parent / "served"
    root.mkdir()
    settings = ServerSettings(port=0, token="a-token-of-this-proof", workspaces=(root,), compat="openhands", drain=1.0)
    app = create_app(Runtime(directory.parent / "store"), settings)
    async with serving(app, settings) as url:
        environment = {
            "HOST": url,
            "KEY": "a-token-of-this-proof",
            "DIRECTORY": str(root),
            "HOME": "/tmp",
            "PATH": f"{os.defpath}:/usr/sbin:/usr/bin",
            "OPENHANDS_SUPPRESS_BANNER": "1",
        }
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [*PYTHON, "-c", REMOTE], env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "all held"
