"""The files of a workspace: the same tests for one of this process and for one on a server."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

import pytest

from agentrt import LLM, Agent, Tool
from agentrt.errors import ConfigurationError, WorkspaceError
from agentrt.events import ObservationEvent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from tests.memory import growth
from tests.server.endpoints.test_git import git

from .places import At, everything

pytestmark = pytest.mark.real

MODEL = LLM(model="scripted")
AGENT = Agent(llm=MODEL, tools=())
LARGE = random.Random(5).randbytes(3_000_001)


async def test_what_is_written_is_listed_and_read(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        files = conversation.workspace
        entry = await files.write_file("src/deep/a b.txt", "größer\n")
        assert (entry.path, entry.type, entry.size) == ("src/deep/a b.txt", "file", 9)
        await files.write_file("empty", b"")
        await files.write_file("src/deep/a b.txt", "other\n")
        assert await files.read_file("src/deep/a b.txt") == b"other\n"
        assert await files.read_file("empty") == b""
        assert (place.workspace / "src/deep/a b.txt").read_text() == "other\n"
        top = await files.list_files()
        assert [(item.name, item.type, item.size) for item in top.items] == [
            ("src", "directory", 0),
            ("empty", "file", 0),
        ]
        assert (top.path, top.truncated) == ("", False)
        assert [item.path for item in (await files.list_files("src/deep")).items] == ["src/deep/a b.txt"]


async def test_files_are_copied_both_ways(at: At, tmp_path: Path) -> None:
    here, back = tmp_path / "here.bin", tmp_path / "back.bin"
    here.write_bytes(LARGE)
    back.write_text("what was there before")
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        sent = await conversation.workspace.file_upload(here, "in/there.bin")
        assert (sent.success, sent.file_size, sent.destination_path) == (True, len(LARGE), "in/there.bin")
        assert (place.workspace / "in/there.bin").read_bytes() == LARGE
        got = await conversation.workspace.file_download(f"{place.workspace}/in/there.bin", back)
        assert (got.success, got.file_size, got.destination_path) == (True, len(LARGE), str(back))
        assert back.read_bytes() == LARGE
        assert await conversation.workspace.read_file("in/there.bin") == LARGE


async def test_a_file_of_any_size_is_copied_through_little_memory(at: At, tmp_path: Path) -> None:
    here, back, size = tmp_path / "here.bin", tmp_path / "back.bin", 200 << 20
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        files = conversation.workspace
        await files.write_file("warm", LARGE)
        here.touch()
        os.truncate(here, size)
        with growth() as up:
            assert (await files.file_upload(here, "there.bin")).file_size == size
        with growth() as down:
            await files.file_download("there.bin", back)
        with growth() as zipped:
            await files.archive_download(tmp_path / "all.zip")
        assert back.stat().st_size == size
        assert zipfile.ZipFile(tmp_path / "all.zip").getinfo("there.bin").file_size == size
        assert max(up.bytes, down.bytes, zipped.bytes) < 48 << 20, "with the server, which is in this process"
        for large in (back, place.workspace / "there.bin"):
            large.unlink()


async def test_a_directory_is_had_as_an_archive(at: At, tmp_path: Path) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        (place.workspace / "src").mkdir()
        (place.workspace / "src/a.txt").write_text("a\n")
        (place.workspace / "src/link").symlink_to("a.txt")
        (place.workspace / "b.txt").write_text("b\n")
        await conversation.workspace.archive_download(tmp_path / "src.zip", "src")
        await conversation.workspace.archive_download(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "src.zip") as made:
        assert (made.namelist(), made.read("a.txt")) == (["a.txt"], b"a\n")
    with zipfile.ZipFile(tmp_path / "all.zip") as made:
        assert sorted(made.namelist()) == ["b.txt", "src/", "src/a.txt"]


async def test_git_says_what_has_changed(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        files = conversation.workspace
        with pytest.raises(WorkspaceError) as missing:
            await files.git_changes()
        assert missing.value.code == "git-missing"
        git(place.workspace, "init", "-q", "-b", "trunk")
        (place.workspace / "kept").write_text("one\n")
        git(place.workspace, "add", ".")
        git(place.workspace, "commit", "-q", "-m", "first")
        await files.write_file("kept", "two\n")
        await files.write_file("new/file", "three\n")
        changes = await files.git_changes()
        assert changes.branch == "trunk"
        assert sorted((item.path, item.status) for item in changes.items) == [
            ("kept", "modified"),
            ("new/file", "untracked"),
        ]
        both, one = await files.git_diff(), await files.git_diff("new")
        assert "-one\n+two\n" in both.diff
        assert "+three\n" in both.diff
        assert "+three\n" in one.diff
        assert "two" not in one.diff


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nothing", "file-missing"),
        ("directory", "not-a-file"),
        ("file/below", "not-a-directory"),
        ("", "not-a-file"),
        ("../outside", "path-outside"),
        ("/etc/passwd", "path-outside"),
        ("out", "path-outside"),
        ("a/" * 300 + "b", "path"),
        ("x" * 5000, "path"),
        ("a\0b", "path"),
        ("\udc80", "path"),
    ],
)
async def test_what_cannot_be_had_is_told_in_the_same_words(at: At, tmp_path: Path, path: str, code: str) -> None:
    (tmp_path / "outside").write_text("of nobody's business")
    (tmp_path / "here").write_text("here")
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        (place.workspace / "directory").mkdir()
        (place.workspace / "file").write_text("file")
        (place.workspace / "out").symlink_to("../outside")
        files = conversation.workspace
        with pytest.raises(WorkspaceError) as refused:
            await files.read_file(path)
        assert refused.value.code == code
        assert str(refused.value).startswith(WorkspaceError.REASONS[code])
        failed = await files.file_download(path, tmp_path / "there")
        assert not failed.success
        assert failed.error.startswith(WorkspaceError.REASONS[code])
        assert not (tmp_path / "there").exists()
        if path not in ("nothing", "out"):  # those can be written
            with pytest.raises(WorkspaceError) as refused:
                await files.write_file(path, "x")
            assert refused.value.code == code
            assert (await files.file_upload(tmp_path / "here", path)).error.startswith(WorkspaceError.REASONS[code])
        assert (tmp_path / "outside").read_text() == "of nobody's business"
        assert sorted(child.name for child in place.workspace.iterdir()) == ["directory", "file", "out"]


async def test_errors_of_files_here_are_those_of_the_system(at: At, tmp_path: Path) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        files = conversation.workspace
        assert "No such file" in (await files.file_upload(tmp_path / "nothing", "there")).error
        (place.workspace / "kept").write_text("kept")
        assert "No such file" in (await files.file_download("kept", tmp_path / "nowhere" / "file")).error
        assert "Is a directory" in (await files.file_download("kept", tmp_path)).error
        assert [child.name for child in place.workspace.iterdir()] == ["kept"]
    assert not [child for child in tmp_path.iterdir() if child.name.startswith(".")]


async def test_the_agent_works_on_the_same_files(at: At) -> None:
    client = ScriptedLLM([call("terminal", command="cat note; echo done > result"), finish("Done.")])
    async with at(client) as place, place.begin(Agent(llm=MODEL, tools=(Tool("terminal"),))) as conversation:
        await conversation.workspace.write_file("note", "said by a person\n")
        await conversation.send_message("go")
        await conversation.run()
        (seen, *_) = [plain(e.content) for e in await everything(conversation) if isinstance(e, ObservationEvent)]
        assert "said by a person" in seen
        await conversation.rest()
        assert await conversation.workspace.read_file("result") == b"done\n"


async def test_they_are_there_while_it_is_entered(at: At) -> None:
    async with at(ScriptedLLM([])) as place:
        conversation = place.begin(AGENT)
        with pytest.raises(ConfigurationError, match="async with"):
            await conversation.workspace.list_files()
        async with conversation:
            assert (await conversation.workspace.list_files()).items == ()
        with pytest.raises(ConfigurationError, match="was left"):
            await conversation.workspace.list_files()
