"""A workspace that a program holds itself, without a conversation and with several."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, DockerWorkspace, Workspace
from agentrt.errors import ConfigurationError, WorkspaceError, WorkspaceMissing
from agentrt.specs import LocalWorkspace
from agentrt.testing import ScriptedLLM, finish

from .sandboxes.living import is_held, until

pytestmark = pytest.mark.real


async def test_commands_run_and_files_are_copied(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with Workspace(work) as workspace:
        assert workspace.working_dir == str(work)
        assert await workspace.path() == str(work)
        assert (await workspace.execute_command("echo one > a; pwd")).stdout == f"{work}\n"
        copied = await workspace.file_download("a", tmp_path / "copy")
        assert (copied.success, copied.file_size, copied.source_path) == (True, 4, "a")
        assert (tmp_path / "copy").read_text() == "one\n"
        failed = await workspace.file_upload(tmp_path / "missing", "b")
        assert (failed.success, failed.file_size) == (False, None)
        assert failed.error
        with pytest.raises(WorkspaceError) as refused:
            await workspace.git_changes()
        assert refused.value.code == "git-missing"
        await workspace.execute_command("mkdir inner && cd inner && git init -q . && touch new")
        assert [change.path for change in (await workspace.git_changes("inner")).items] == ["new"]
        assert (await workspace.execute_command("env | grep -c API_KEY")).stdout == "0\n"


async def test_a_repository_below_tells_of_its_own_files(tmp_path: Path) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit -qm one"
    async with Workspace(tmp_path) as workspace:
        await workspace.execute_command(
            f"mkdir -p in/deep && cd in && git init -q . && echo 1 > deep/a && git add . && {commit}"
        )
        (tmp_path / "in/deep/a").write_text("2\n")
        for path in ("in", "in/deep", "in/deep/a"):
            found = await workspace.git_diff(path)
            assert "--- a/deep/a" in found.diff
            assert "-1\n+2" in found.diff
        with pytest.raises(WorkspaceError) as refused:
            await workspace.git_diff("")
        assert refused.value.code == "git-missing"


async def test_a_link_out_of_it_leads_to_no_repository(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with Workspace(tmp_path) as outside:
        await outside.execute_command("mkdir other && cd other && git init -q .")
    (work / "link").symlink_to("../other")
    async with Workspace(work) as workspace:
        with pytest.raises(WorkspaceError) as refused:
            await workspace.git_changes("link")
        assert refused.value.code == "path-outside"


async def test_leaving_it_ends_what_runs(tmp_path: Path) -> None:
    async with Workspace(tmp_path) as workspace:
        await workspace.execute_command("flock held sleep 300 > /dev/null 2>&1 &", timeout=5)
        state = (await workspace.commands())[0]
        assert state.result is not None
        assert state.result.exit_code == 0
        await until(lambda: is_held(tmp_path / "held"))
    assert not is_held(tmp_path / "held")


async def test_conversations_are_given_it_and_it_outlives_them(tmp_path: Path) -> None:
    async with Workspace(tmp_path) as workspace:
        for number in range(2):
            script = ScriptedLLM([finish("Done.")])
            agent = Agent(llm=LLM(model="scripted"), tools=())
            store = tmp_path / "store"
            async with Conversation(agent, workspace, store=store, client=script) as conversation:
                created = conversation.state.created
                assert created is not None
                assert created.workspace == LocalWorkspace(str(tmp_path))
                await conversation.workspace.execute_command(f"touch {number}")
        assert (await workspace.execute_command("ls -d 0 1")).stdout == "0\n1\n"


async def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has everything"):
        Workspace(DockerWorkspace(str(tmp_path), "debian"), image="debian")
    closed = Workspace(tmp_path)
    with pytest.raises(ConfigurationError, match="must be entered first"):
        await closed.execute_command("ls")
    with pytest.raises(ConfigurationError, match="must be entered first"):
        Conversation(Agent(llm=LLM(model="scripted"), tools=()), closed)
    with pytest.raises(WorkspaceMissing):
        async with Workspace(tmp_path / "nowhere"):
            pass
    async with closed:
        with pytest.raises(ConfigurationError, match="open already"):
            await closed.__aenter__()
