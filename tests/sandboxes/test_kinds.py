"""A kind of workspace of one's own: in a conversation, in the log, and where it is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentrt.errors import ConfigurationError
from agentrt.placing import PlaceType
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.kinds import place_type
from agentrt.specs import LocalWorkspace, WorkspaceSpec
from agentrt.specs.workspace import KINDS, MissingWorkspace, as_workspace

KIND = """
from typing import ClassVar

import msgspec
from agentrt.placing import PlaceType
from agentrt.sandboxes.here import Here
from agentrt.specs import WorkspaceSpec


class NearWorkspace(WorkspaceSpec, msgspec.Struct, frozen=True, tag="near"):
    path: str
    name: str = "near"
    on_this_machine: ClassVar[bool] = True
    seen_here: ClassVar[bool] = True


PLACE = PlaceType(NearWorkspace, Here)
"""

TALK = """
import sys
from pathlib import Path

import anyio
from near import NearWorkspace

from agentrt import LLM, Agent, Conversation, Runtime, Tool
from agentrt.events import ObservationEvent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish


async def main():
    client = ScriptedLLM([call("terminal", command="pwd"), finish("Done.")])
    async with Runtime(sys.argv[1], client=client) as runtime:
        agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
        async with Conversation(agent, NearWorkspace(sys.argv[2], "two"), runtime=runtime) as live:
            await live.send_message("go")
            await live.run()
            print([plain(one.content) async for one in live.events() if isinstance(one, ObservationEvent)][0])
            name = live.id
    async with Runtime(sys.argv[1], client=client) as runtime, Conversation(id=name, runtime=runtime) as again:
        print(again.state.created.workspace)


anyio.run(main)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that offers a kind, as an installation leaves it."""
    place = tmp_path / "site"
    (place / "near-1.dist-info").mkdir(parents=True)
    (place / "near.py").write_text(KIND)
    (place / "near-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: near\nVersion: 1\n")
    (place / "near-1.dist-info/entry_points.txt").write_text("[agentrt.places]\nnear = near:PLACE\n")
    return place


@pytest.mark.real
def test_a_package_adds_a_kind(package: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    talk = [sys.executable, "-c", TALK, str(tmp_path / "store"), str(tmp_path / "work")]
    root = str(Path(__file__).parent.parent.parent)
    paths = {"PYTHONPATH": f"{package}:{root}:{root}/src", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        talk,
        capture_output=True,
        text=True,
        env=paths,
    )
    assert ran.returncode == 0, ran.stderr
    assert str(tmp_path / "work") in ran.stdout
    assert f"NearWorkspace(path='{tmp_path / 'work'}', name='two')" in ran.stdout
    # where the package is not installed, the conversation can be read, and not opened
    shown = subprocess.run(
        [sys.executable, "-m", "agentrt", "show", "--store", str(tmp_path / "store")], capture_output=True, text=True
    )
    assert "pwd" in shown.stdout, shown.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "agentrt", "list", "--store", str(tmp_path / "store")], capture_output=True, text=True
    )
    assert "go" in listed.stdout
    resumed = subprocess.run(
        [sys.executable, "-m", "agentrt", "resume", "--store", str(tmp_path / "store")], capture_output=True, text=True
    )
    assert "no kind of workspace 'near' is installed here" in resumed.stderr


@pytest.mark.simulated
def test_a_log_with_an_unknown_kind_keeps_what_it_has() -> None:
    given = {"type": "moon", "path": "/base", "crater": 7}
    found = as_workspace(WorkspaceSpec, given)
    assert isinstance(found, MissingWorkspace)
    assert (found.kind, found.path) == ("moon", "/base")
    again = msgspec.json.decode(msgspec.json.encode(found))
    assert as_workspace(WorkspaceSpec, again) == found
    with pytest.raises(ConfigurationError, match="no kind of workspace 'moon' is installed here"):
        place_type(found)
    wrongs: tuple[Any, ...] = ({}, {"type": "local"}, {"type": "local", "path": 1}, [], "x", None)
    for wrong in wrongs:
        with pytest.raises(msgspec.ValidationError):
            as_workspace(WorkspaceSpec, wrong)


@pytest.mark.simulated
def test_two_kinds_cannot_have_one_tag() -> None:
    class Other(WorkspaceSpec, msgspec.Struct, frozen=True, tag="local"):
        path: str

    with pytest.raises(ConfigurationError, match="'local'"):
        PlaceType(Other, Here)
    assert KINDS["local"] is LocalWorkspace
