"""A real model's run on a real bug: marshmallow 3.13.0, SWE-bench instance marshmallow-code__marshmallow-1867.

The turns are those of a published run; only its editor commands are translated to this project's tools.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentrt import Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, ObservationEvent
from agentrt.llm.litellm_client import LiteLLMClient
from agentrt.specs.content import plain
from agentrt.testing import ScriptedProvider, call, finish

pytestmark = pytest.mark.long

RUN = Path(__file__).parent / "marshmallow-1867.json"
PROBE = (
    "from datetime import timedelta; from marshmallow.fields import TimeDelta;"
    "print(TimeDelta(precision='milliseconds').serialize('t', {'t': timedelta(milliseconds=345)}))"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """marshmallow's source distribution, unpacked; skipped only where it cannot be had."""
    place = tmp_path_factory.mktemp("marshmallow")
    fetched = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"),
            *("-q", "-d", str(place), "marshmallow==3.13.0"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    archive = place / "marshmallow-3.13.0.tar.gz"
    if not archive.exists():
        pytest.skip(f"marshmallow 3.13.0 cannot be had from the package index: {fetched.stderr.strip()[-200:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    project = place / "marshmallow-3.13.0"
    if sys.version_info >= (3, 12) and "distutils" in python(project, "-c", "import marshmallow").stderr:
        pytest.skip("marshmallow 3.13.0 needs distutils, which Python 3.12 took away")
    return project


def python(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the project's own marshmallow."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def translated(project: Path) -> list[ModelReply]:
    """The run's turns with this project's tools."""
    turns: list[ModelReply] = []
    shown = project / "reproduce.py"
    edited: list[str] = []
    for turn in json.loads(RUN.read_text())["turns"]:
        arguments = turn["arguments"]
        match turn["tool"]:
            case "create":
                shown = project / arguments["filename"]
                made = _edit(turn, "create", path=str(shown), file_text="\n")
            case "insert":
                made = _edit(turn, "insert", path=str(shown), insert_line=0, new_str=arguments["text"])
            case "bash":
                made = call("terminal", turn["thought"], command=arguments["command"])
            case "find_file":
                command = f"find {arguments['dir']} -name {arguments['file_name']}"
                made = call("terminal", turn["thought"], command=command)
            case "open":
                shown, line = project / arguments["path"], arguments["line_number"]
                made = _edit(turn, "view", path=str(shown), view_range=[line - 20, line + 20])
            case "edit":
                old, new = arguments["search"], arguments["replace"]
                if old in edited:  # the run's own editor had refused the first try, for its indentation
                    turns.append(_edit(turn, "undo_edit", path=str(shown)))
                edited.append(old)
                made = _edit(turn, "str_replace", path=str(shown), old_str=old, new_str=new)
            case _:
                made = finish(turn["thought"])
        turns.append(_named(made, turn["id"]))
    return turns


def _named(turn: ModelReply, name: str) -> ModelReply:
    """The call under the id that the real provider gave it; it gave some twice."""
    return replace(turn, tool_calls=tuple(replace(made, id=name) for made in turn.tool_calls))


def _edit(turn: dict[str, Any], command: str, **arguments: Any) -> ModelReply:
    return call("file_editor", turn["thought"], command=command, **arguments)


@pytest.mark.long
async def test_a_real_run_fixes_the_real_package(source: Path, tmp_path: Path) -> None:
    assert python(source, "-c", PROBE).stdout == "344\n"
    task = json.loads(RUN.read_text())["task"]
    client = LiteLLMClient()
    async with ScriptedProvider(_with_path(translated(source), source)) as provider:
        async with Runtime(tmp_path / "s", client=client) as runtime:
            async with Conversation(Agent(llm=provider.llm()), source, runtime=runtime) as conversation:
                await conversation.send_message(task)
                state = await conversation.run()
                events = [event async for event in conversation.events()]
        assert len(provider.requests) == state.ledger.commands
    await client.aclose()
    assert state.status is ExecutionStatus.FINISHED, state.error
    results = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert any(re.match(r"344\n", result) for result in results), "the agent saw the bug"
    assert any(re.match(r"345\n", result) for result in results), "and saw it fixed"
    actions = [event for event in events if isinstance(event, ActionEvent)]
    assert len({action.id for action in actions}) == len(actions) > len({action.tool_call_id for action in actions})
    assert python(source, "-c", PROBE).stdout == "345\n"
    assert not (source / "reproduce.py").exists()
    tested = python(source, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "tests/test_fields.py")
    assert tested.returncode == 0, tested.stdout[-2000:]
    assert re.search(r"\d+ passed", tested.stdout)


def _with_path(turns: list[ModelReply], source: Path) -> list[ModelReply]:
    """The shell must find this marshmallow and this Python, as the run's own machine did."""
    setup = f"export PYTHONPATH={source}/src PATH={Path(sys.executable).parent}:$PATH"
    return [call("terminal", "I set the environment up.", command=setup), *turns]
