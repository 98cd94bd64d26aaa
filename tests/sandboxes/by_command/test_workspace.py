"""A workspace on another machine, which a program holds, and in conversations."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, Runtime, Tool, Workspace
from agentrt.errors import WorkspaceError
from agentrt.events import ContextResolved, ObservationEvent
from agentrt.specs import WorkspaceSpec
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish

from ...examples import example
from ...server.served import served
from ..sshd import Sshd, sshd

pytestmark = pytest.mark.real

SSH = example("ssh_workspace")


@pytest.fixture(scope="module")
def server() -> Iterator[Sshd]:
    with sshd() as running:
        yield running


@pytest.fixture
def spec(server: Sshd, tmp_path: Path) -> WorkspaceSpec:
    """A directory that the first use makes."""
    found: WorkspaceSpec = SSH.SshWorkspace(str(tmp_path / "work"), "there", sys.executable, server.options)
    return found


async def test_files_are_those_of_the_place(spec: WorkspaceSpec, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with Workspace(spec) as held:
        assert (await held.execute_command("pwd")).stdout == f"{work}\n"
        assert await held.directory() is None
        entry = await held.write_file("notes/one", "words")
        assert (entry.path, entry.type, entry.size) == ("notes/one", "file", 5)
        assert await held.read_file("notes/one") == b"words"
        (tmp_path / "given").write_bytes(os.urandom(1_000_000))
        assert (await held.file_upload(tmp_path / "given", "large")).success
        assert (await held.file_download("large", tmp_path / "back")).file_size == 1_000_000
        assert (tmp_path / "back").read_bytes() == (tmp_path / "given").read_bytes()
        (work / "link").symlink_to("notes")
        listed = await held.list_files()
        assert [(one.name, one.type) for one in listed.items] == [
            ("link", "link"),
            ("notes", "directory"),
            ("large", "file"),
        ]
        for name, code in (("nothing", "file-missing"), ("notes", "not-a-file")):
            with pytest.raises(WorkspaceError) as refused:
                await held.read_file(name)
            assert refused.value.code == code


async def test_a_link_out_of_it_is_refused(spec: WorkspaceSpec, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    async with Workspace(spec) as held:
        await held.execute_command("ln -s ../secret link; ln -s .. up; ln -s ../fresh dangling; git init -q ../repo")
        await held.execute_command("ln -s ../repo repo")
        for act in (
            lambda: held.write_file("dangling", "made"),
            lambda: held.git_diff("repo"),
            lambda: held.read_file("link"),
            lambda: held.write_file("link", "changed"),
            lambda: held.write_file("up/new", "made"),
            lambda: held.list_files("up"),
            lambda: held.git_changes("up"),
        ):
            with pytest.raises(WorkspaceError) as refused:
                await act()
            assert refused.value.code == "path-outside"
    assert (tmp_path / "secret").read_text() == "canary"
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "fresh").exists()


async def test_git_is_that_of_the_place(spec: WorkspaceSpec) -> None:
    name = "-c user.name=a -c user.email=a@b"
    async with Workspace(spec) as held:
        with pytest.raises(WorkspaceError) as refused:
            await held.git_changes()
        assert refused.value.code == "git-missing"
        with pytest.raises(WorkspaceError) as refused:
            await held.git_diff()
        assert refused.value.code == "git-missing"
        await held.execute_command(f"git init -q -b main . && echo 1 > a && git add a && git {name} commit -qm one")
        await held.execute_command("echo 2 > a; echo 3 > b; ln -s loop loop; mkfifo pipe")
        found = await held.git_changes()
        assert (found.branch, [(one.path, one.status) for one in found.items]) == (
            "main",
            [("a", "modified"), ("b", "untracked"), ("loop", "untracked")],
        )
        assert "-1\n+2" in (await held.git_diff("a")).diff
        assert "+3" in (await held.git_diff()).diff
        assert [one.name for one in (await held.list_files()).items] == [".git", "a", "b", "loop", "pipe"]
        with pytest.raises(WorkspaceError):
            await held.write_file("pipe", "words")


async def test_a_repository_above_the_workspace_is_not_its_own(spec: WorkspaceSpec, tmp_path: Path) -> None:
    async with Workspace(spec) as held:
        await held.execute_command("git init -q ..")
        for asked in (held.git_changes, held.git_diff):
            with pytest.raises(WorkspaceError) as refused:
                await asked()
            assert refused.value.code == "git-missing"


async def test_a_conversation_works_there(spec: WorkspaceSpec, tmp_path: Path) -> None:
    """It is closed and opened again, and what it ran ends with it."""
    agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
    client = ScriptedLLM([call("terminal", command="sleep 1013 & pwd; echo $SSH_CONNECTION"), finish("Done.")])
    async with Runtime(tmp_path / "store", client=client) as runtime:
        async with Conversation(agent, spec, runtime=runtime) as live:
            await live.send_message("go")
            await live.run()
            said = [plain(one.content) async for one in live.events() if isinstance(one, ObservationEvent)]
            assert f"{tmp_path / 'work'}\n127.0.0.1 " in said[0]
            await live.workspace.write_file("one", "words")
            name = live.id
        async with Conversation(id=name, runtime=runtime) as again:
            assert again.state.created is not None
            assert again.state.created.workspace == spec
            assert await again.workspace.read_file("one") == b"words"
            assert (await again.workspace.execute_command("pgrep -fc '^sleep 1013$'")).stdout == "0\n"


async def test_its_files_are_kept_compared_and_restored(spec: WorkspaceSpec, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "old").write_text("as it was\n")
    (work / "keep").mkdir()
    (work / "keep/it").write_text("still\n")
    agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
    acts = "echo changed > old; mkdir new; echo made > new/file; ln -s old link; rm -r keep"
    client = ScriptedLLM([call("terminal", command=acts), finish("Done.")])
    async with Runtime(tmp_path / "store", client=client) as runtime:
        async with Conversation(agent, spec, runtime=runtime) as live:
            first = await live.send_message("go")
            await live.run()
            end = live.state.seq
            assert (work / "old").read_text() == "changed\n"
            diff = await live.workspace.file_diff(since=first.seq, until=end)
            assert "-as it was\n+changed" in diff.diff
            changes = await live.workspace.file_changes(since=first.seq, until=end)
            assert sorted((one.path, one.status) for one in changes.items) == [
                ("keep/it", "deleted"),
                ("link", "added"),
                ("new/file", "added"),
                ("old", "modified"),
            ]
            assert await live.workspace.read_file("old", at=end) == b"changed\n"
            await live.rewind(first, files=True)
        assert (work / "old").read_text() == "as it was\n"
        assert (work / "keep/it").read_text() == "still\n"
        assert sorted(one.name for one in work.iterdir()) == ["keep", "old"]


async def test_its_instructions_are_told_and_nothing_of_it_runs_by_itself(spec: WorkspaceSpec, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for name, text in {
        "CLAUDE.md": "Say ahoy. @docs/more.md",
        "docs/more.md": "More is in here.",
        ".agents/skills/knots/SKILL.md": "---\nname: knots\ndescription: How to tie knots.\n---\nTie it.",
        ".agents/hooks.json": '{"hooks": {"session_start": [{"hooks": [{"command": "touch canary"}]}]}}',
        ".mcp.json": '{"mcpServers": {"bad": {"command": "touch", "args": ["canary"]}}}',
        "large.bin": "x" * 10,
    }.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
    client = ScriptedLLM([finish("Done.")])
    async with (
        Runtime(tmp_path / "store", client=client) as runtime,
        Conversation(agent, spec, runtime=runtime) as live,
    ):
        await live.send_message("go")
        await live.run()
        told = next(event for event in [one async for one in live.events()] if isinstance(event, ContextResolved))
    prompt = "\n".join(plain(message.content) for message in client.requests[0].messages)
    for part in ("Say ahoy.", "More is in here.", "knots"):
        assert part in prompt
    assert {str(work / "CLAUDE.md"), str(work / ".agents/skills/knots/SKILL.md")} <= {one.path for one in told.sources}
    assert ["not read" in one.what for one in told.problems] == [True]
    assert not (work / "canary").exists()
    assert "mirror-" not in prompt
    assert "mirror-" not in msgspec.json.encode(told).decode()


async def test_a_place_that_is_not_reached_is_a_problem_that_is_told(tmp_path: Path) -> None:
    gone: WorkspaceSpec = SSH.SshWorkspace(str(tmp_path / "work"), "nowhere.invalid", sys.executable, ())
    agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
    async with Runtime(tmp_path / "store", client=ScriptedLLM([finish("Done.")])) as runtime:
        async with Conversation(agent, gone, runtime=runtime) as live:
            told = next(event for event in [one async for one in live.events()] if isinstance(event, ContextResolved))
    assert [one.path for one in told.problems] == [str(tmp_path / "work")]
    assert "nowhere.invalid" in told.problems[0].what


async def test_its_files_are_listed_written_and_archived_over_rest(spec: WorkspaceSpec, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with served(tmp_path, ScriptedLLM([])) as client:
        runtime = client.services.runtime
        agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=(Tool("terminal"),))
        async with Conversation(agent, spec, runtime=runtime) as live:
            base = f"{client.url}/conversations/{live.id}/files"

            async def put(path: str, data: bytes) -> int:
                async with client.session.put(f"{base}/content?path={path}", data=data) as answer:
                    await answer.read()
                    return answer.status

            assert await put("deep/one.txt", b"one") == 201
            assert await put("deep/one.txt", b"two") == 200
            assert (work / "deep/one.txt").read_bytes() == b"two"
            (work / "link").symlink_to("deep")
            (work / "out").symlink_to("/etc")
            assert await put("link/two.txt", b"2") == 201
            assert (work / "deep/two.txt").read_bytes() == b"2"
            assert await put("out/canary", b"bad") == 403
            assert not Path("/etc/canary").exists()
            _, listed = await client.ask("GET", f"/conversations/{live.id}/files")
            assert [one["name"] for one in listed["items"]] == ["deep", "link", "out"]
            async with client.session.get(f"{base}/content?path=deep/one.txt") as answer:
                assert await answer.read() == b"two"
            async with client.session.get(f"{base}/archive?path=deep") as answer:
                with zipfile.ZipFile(io.BytesIO(await answer.read())) as archive:
                    assert archive.read("one.txt") == b"two"
                    assert sorted(archive.namelist()) == ["one.txt", "two.txt"]
            async with client.session.get(f"{base}/archive?path=nothing") as answer:
                assert answer.status == 404
