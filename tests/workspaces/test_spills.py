"""What a model is not shown is in files that its tools read, that git does not see, and that go again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentrt.events import ActionEvent
from agentrt.placing import Setting
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.reached import ReachedFiles
from agentrt.security.rating import Scene
from agentrt.specs import DockerWorkspace, LocalWorkspace, SecurityRisk, WorkspaceSpec
from agentrt.workspaces.spills import MOST, Spills
from tests.security.corpus import rate_action

pytestmark = pytest.mark.simulated


class Mounted(Here):
    """A place whose files are where this machine has them; a container's are below its workspace."""

    def __init__(self, workspace: Any) -> None:
        super().__init__(workspace, Setting(lambda function: None))


@pytest.fixture(params=["local", "container"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> WorkspaceSpec:
    work = tmp_path / "work"
    work.mkdir()
    return (
        LocalWorkspace(str(work), confine="off")
        if request.param == "local"
        else DockerWorkspace(path=str(work), image="x")
    )


async def test_the_tools_read_it_and_it_goes_when_they_are_closed(workspace: WorkspaceSpec) -> None:
    spills = Spills(Mounted(workspace), "a/b tool")
    path = await spills.keep("grüße\udc80\n")
    assert path is not None
    assert ReachedFiles(workspace).read(path) == "grüße?\n".encode()
    assert Path(path).name.startswith("a_b_tool-")
    in_workspace = path.startswith(f"{workspace.path}/")
    assert in_workspace == isinstance(workspace, DockerWorkspace), "commands in a container see nothing else"
    await spills.close()
    await spills.close()
    assert not Path(path).exists()
    assert in_workspace or not Path(path).parent.exists()


async def test_there_are_never_many(workspace: WorkspaceSpec) -> None:
    spills = Spills(Mounted(workspace), "tool")
    paths = [await spills.keep(f"{number}") for number in range(MOST + 5)]
    there = [path for path in paths if path is not None and Path(path).exists()]
    assert there == paths[5:]
    await spills.close()
    assert not any(Path(path).exists() for path in there)


async def test_two_conversations_do_not_meet(workspace: WorkspaceSpec) -> None:
    one, two = Spills(Mounted(workspace), "tool"), Spills(Mounted(workspace), "tool")
    first, second = await one.keep("first"), await two.keep("second")
    assert first is not None
    assert second is not None
    await two.close()
    assert Path(first).read_text() == "first"
    await one.close()


@pytest.mark.real
async def test_git_sees_nothing_of_it(workspace: WorkspaceSpec) -> None:
    subprocess.run(["git", "init", "-q", workspace.path], check=True)
    spills = Spills(Mounted(workspace), "tool")
    await spills.keep("text")
    status = subprocess.run(["git", "-C", workspace.path, "status", "--porcelain"], capture_output=True, check=True)
    assert status.stdout == b""
    await spills.close()


async def test_a_link_in_a_containers_workspace_leads_nowhere_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "work" / ".agentrt").symlink_to(tmp_path / "outside")
    spills = Spills(Mounted(DockerWorkspace(path=str(tmp_path / "work"), image="x")), "tool")
    assert await spills.keep("text") is None
    assert list((tmp_path / "outside").iterdir()) == []


async def test_where_nothing_can_be_written_there_is_no_path(tmp_path: Path) -> None:
    (tmp_path / ".agentrt").write_text("a file")
    assert await Spills(Mounted(DockerWorkspace(path=str(tmp_path), image="x")), "tool").keep("text") is None


async def test_reading_it_is_no_risk(workspace: WorkspaceSpec) -> None:
    spills = Spills(Mounted(workspace), "tool")
    path = await spills.keep("text")
    for command in ("cat", "tail -n 50", "grep -n word", "sed -n 1,50p", "wc -l", "head -c 100"):
        call = ActionEvent(
            tool_name="terminal",
            tool_call_id="1",
            llm_response_id="1",
            arguments_json=msgspec.Raw(msgspec.json.encode({"command": f"{command} {path}"})),
        )
        assert rate_action(call, Scene(workspace, workspace.path)).risk is SecurityRisk.LOW
    view = msgspec.Raw(msgspec.json.encode({"command": "view", "path": path}))
    call = ActionEvent(tool_name="file_editor", tool_call_id="1", llm_response_id="1", arguments_json=view)
    assert rate_action(call, Scene(workspace, workspace.path)).risk is SecurityRisk.LOW
    await spills.close()
