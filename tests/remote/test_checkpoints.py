"""Files as they were after an event, what changed between two, and going back to them: here and on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Tool
from agentrt.errors import ConfigurationError, WorkspaceError
from agentrt.events import FilesRestored
from agentrt.testing import ScriptedLLM, call, finish
from tests.files_kept import in_time

from .places import At, everything

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))

pytestmark = pytest.mark.real


def filled(place: Path) -> None:
    """Put files there that an agent and a person may change."""
    (place / "src").mkdir()
    (place / "src/a.txt").write_text("one\n")
    (place / "theirs.txt").write_text("one\n")
    (place / "link").symlink_to("src/a.txt")


def working() -> ScriptedLLM:
    """One that changes files in two runs."""
    return ScriptedLLM(
        [
            call("terminal", command="echo two > src/a.txt; echo new > made.txt"),
            finish("Done."),
            call("terminal", command="rm made.txt; echo two >> theirs.txt"),
            finish("Done."),
        ]
    )


async def test_files_are_shown_as_they_were_and_who_changed_them(at: At) -> None:
    async with at(working(), recast=in_time) as place:
        filled(place.workspace)
        async with place.begin(AGENT) as talk:
            began = (await talk.send_message("go")).seq
            await talk.run()
            first = talk.cursor.seq
            (place.workspace / "theirs.txt").write_text("a person's\n")
            await talk.send_message("go on")
            await talk.run()
            last, files = talk.cursor.seq, talk.workspace

            async def names(at: int, path: str = "") -> list[str]:
                return [f"{one.type} {one.path} {one.size}" for one in (await files.list_files(path, at=at)).items]

            assert await names(began) == ["directory src 0", "link link 9", "file theirs.txt 4"]
            assert await names(first) == ["directory src 0", "link link 9", "file made.txt 4", "file theirs.txt 11"]
            assert await names(last, "src") == ["file src/a.txt 4"]
            assert await files.read_file("src/a.txt", at=began) == b"one\n"
            assert await files.read_file("theirs.txt", at=last) == b"a person's\ntwo\n"

            async def changes(since: int, until: int) -> list[str]:
                found = await files.file_changes(since, until)
                return [f"{one.status} {one.path} {'+'.join(one.by)}" for one in found.items]

            assert await changes(began, last) == ["modified src/a.txt agent", "modified theirs.txt people+agent"]
            assert await changes(first, last) == ["deleted made.txt agent", "modified theirs.txt agent"]
            assert await changes(last, first) == ["added made.txt agent", "modified theirs.txt agent"]
            assert await changes(last, last) == []
            diff = (await files.file_diff(began, last, "src")).diff
            assert "-one\n+two\n" in diff
            assert "theirs" not in diff
            assert "-two\n+one\n" in (await files.file_diff(last, began)).diff
            await talk.rest()
            assert await names(last, "src") == ["file src/a.txt 4"], "also while it sleeps"


@pytest.mark.parametrize(
    ("path", "code"),
    [("gone", "file-missing"), ("src", "file-missing"), ("../x", "path-outside"), ("/etc/passwd", "path-outside")],
)
async def test_what_was_not_there_is_said(at: At, path: str, code: str) -> None:
    async with at(working(), recast=in_time) as place:
        filled(place.workspace)
        async with place.begin(AGENT) as talk:
            began = (await talk.send_message("go")).seq
            await talk.run()
            with pytest.raises(WorkspaceError) as refused:
                await talk.workspace.read_file(path, at=began)
            assert refused.value.code == code
            with pytest.raises(WorkspaceError):
                await talk.workspace.list_files("theirs.txt", at=began)


async def test_files_go_back_with_a_rewind(at: At) -> None:
    async with at(working(), recast=in_time) as place:
        filled(place.workspace)
        async with place.begin(AGENT) as talk:
            began = await talk.send_message("go")
            await talk.run()
            (place.workspace / "theirs.txt").write_text("a person's\n")
            place_ = await talk.rewind(began, files=True)
            assert (place.workspace / "src/a.txt").read_text() == "one\n"
            assert (place.workspace / "theirs.txt").read_text() == "a person's\n"
            assert not (place.workspace / "made.txt").exists()
            (restored,) = [event for event in await everything(talk) if isinstance(event, FilesRestored)]
            assert (restored.files, restored.left, restored.left_count) == (2, ("theirs.txt",), 1)
            assert place_ == talk.cursor


async def test_a_fork_works_in_a_copy(at: At) -> None:
    async with at(working(), recast=in_time) as place:
        filled(place.workspace)
        async with place.begin(AGENT) as talk:
            began = await talk.send_message("go")
            await talk.run()
            async with await talk.fork(began, files=True) as fork:
                assert fork.state.created is not None
                other = Path(fork.state.created.workspace.path)
                assert other != place.workspace
                assert other.parent == place.workspace.parent
                assert (other / "src/a.txt").read_text() == "one\n"
            assert (place.workspace / "src/a.txt").read_text() == "two\n"
            async with await talk.fork(files=place.workspace.parent / "named") as fork:
                assert (place.workspace.parent / "named/src/a.txt").read_text() == "two\n"
            with pytest.raises(ConfigurationError):
                await talk.fork(files=place.workspace.parent / "named")


async def test_what_was_not_kept_is_said(at: At) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), checkpoints=False)
    async with at(ScriptedLLM([]), recast=in_time) as place, place.begin(agent) as talk:
        began = await talk.send_message("go")
        for question in (
            talk.workspace.list_files(at=2),
            talk.workspace.read_file("a", at=2),
            talk.workspace.file_changes(1, 2),
            talk.workspace.file_diff(1, 2),
            talk.rewind(began, files=True),
            talk.fork(2, files=True),
        ):
            with pytest.raises(WorkspaceError) as refused:
                await question
            assert refused.value.code == "no-checkpoint"
