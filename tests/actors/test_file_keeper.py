"""Files go back with a rewind, and what people changed meanwhile stays."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, Runtime, Tool, tool
from agentrt.actors.patience import Patience
from agentrt.errors import ConfigurationError, ConversationExists, EventRefused, WorkspaceError
from agentrt.events import (
    ActionEvent,
    ChangedDuring,
    Event,
    FilesRestored,
    HeadMoved,
    MessageEvent,
    ObservationEvent,
    WorkspaceSnapshot,
)
from agentrt.protocols import ModelClient
from agentrt.specs import Effects, LocalWorkspace
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.workspaces.object_journal import JOURNAL
from tests.files_kept import in_time, waiting
from tests.hosted import group_in
from tests.proofs.waiting import eventually

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))


def free(work: Path) -> LocalWorkspace:
    """A workspace whose commands see what is beside it, too."""
    return LocalWorkspace(str(work), confine="off")


pytestmark = pytest.mark.real


def patient(store: Path, model: ModelClient) -> Runtime:
    """A runtime whose calls wait until the files are kept."""
    return Runtime(store, client=model, recast=in_time)


@asynccontextmanager
async def asked(place: Path) -> AsyncIterator[tuple[Path, Conversation]]:
    """A workspace with a file, and a conversation in it that was asked for something and does not run."""
    work = place / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    async with patient(place / "s", ScriptedLLM([])) as runtime, Conversation(AGENT, work, runtime=runtime) as talk:
        await talk.send_message("go")
        yield work, talk


async def logged(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.events()]


async def test_files_go_back_and_what_a_person_changed_stays(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "theirs.txt").write_text("one\n")
    model = ScriptedLLM(
        [
            call("terminal", command="echo two > a.txt; echo two > theirs.txt; mkdir d; echo new > d/made.txt"),
            finish("Done."),
            call("terminal", command="echo three > a.txt; rm d/made.txt"),
            finish("Done."),
        ]
    )
    async with patient(tmp_path / "s", model) as runtime, Conversation(AGENT, work, runtime=runtime) as talk:
        began = await talk.send_message("go")
        await talk.run()
        first = talk.cursor
        (work / "theirs.txt").write_text("a person's\n")
        (work / "more.txt").write_text("a person's, too\n")
        await talk.send_message("go on")
        await talk.run()
        last = talk.cursor
        assert (work / "a.txt").read_text() == "three\n"

        await talk.rewind(first, files=True)
        assert (work / "a.txt").read_text() == "two\n"
        assert (work / "d/made.txt").read_text() == "new\n"
        assert (work / "theirs.txt").read_text() == "a person's\n", "it was there before the agent went on"

        await talk.rewind(began, files=True)
        assert (work / "a.txt").read_text() == "one\n"
        assert not (work / "d").exists()
        assert (work / "theirs.txt").read_text() == "a person's\n"
        assert (work / "more.txt").read_text() == "a person's, too\n"
        events = await logged(talk)
        assert isinstance(events[-2], FilesRestored)
        assert (events[-2].left, events[-2].left_count) == (("more.txt", "theirs.txt"), 2)
        assert isinstance(events[-1], MessageEvent)
        assert plain(events[-1].content).endswith("changed files since you saw them: more.txt, theirs.txt.]")

        await talk.rewind(last, files=True)
        assert (work / "a.txt").read_text() == "three\n"
        assert (work / "more.txt").read_text() == "a person's, too\n"


async def test_what_cannot_go_back_says_so_first(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), checkpoints=False)
    model = ScriptedLLM([call("terminal", command="echo two > a.txt"), finish("Done.")])
    async with (
        patient(tmp_path / "s", model) as runtime,
        Conversation(agent, tmp_path, runtime=runtime) as talk,
    ):
        began = await talk.send_message("go")
        await talk.run()
        before = talk.cursor
        with pytest.raises(WorkspaceError, match="checkpoints=False"):
            await talk.rewind(began, files=True)
        assert talk.cursor == before
        await talk.rewind(began)
        assert not any(isinstance(event, WorkspaceSnapshot | FilesRestored) for event in await logged(talk))


async def test_a_restore_that_was_cut_is_done_when_it_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    model = ScriptedLLM([call("terminal", command="echo two > a.txt"), finish("Done.")])
    async with patient(tmp_path / "s", model) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            await group_in(runtime).log.append(HeadMoved(to=began.seq, files=True))
            assert (tmp_path / "a.txt").read_text() == "two\n"
        async with Conversation(id=talk.id, runtime=runtime) as talk:
            assert (tmp_path / "a.txt").read_text() == "one\n"
            assert isinstance((await logged(talk))[-1], FilesRestored)


async def test_a_restore_that_failed_is_told_and_can_be_asked_for_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    model = ScriptedLLM([call("terminal", command="echo two > a.txt"), finish("Done.")])
    async with patient(tmp_path / "s", model) as runtime:
        async with Conversation(AGENT, work, runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            (store,) = (tmp_path / "s" / "conversations").glob("*/beside")
            store.rename(store.with_name("away"))
            store.write_text("no directory")
            with pytest.raises(WorkspaceError):
                await talk.rewind(began, files=True)
            assert talk.state.ledger.restoring == 0
            store.unlink()
            store.with_name("away").rename(store)
            await talk.rewind(began, files=True)
            assert (work / "a.txt").read_text() == "one\n"


async def test_nothing_goes_back_while_it_runs(tmp_path: Path) -> None:
    model = ScriptedLLM([call("terminal", command="sleep 60"), finish("Done.")])
    async with (
        patient(tmp_path / "s", model) as runtime,
        Conversation(AGENT, tmp_path, runtime=runtime) as talk,
    ):
        began = await talk.send_message("go")
        async for event in talk.run():
            if type(event).__name__ == "ExecutionStarted":
                with pytest.raises(EventRefused):
                    await talk.rewind(began, files=True)
                await talk.interrupt()
        assert any(isinstance(event, ObservationEvent) or event for event in await logged(talk))


async def test_a_fork_has_files_of_its_own_as_they_were(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    model = ScriptedLLM(
        [
            call("terminal", command="echo two > a.txt; mkdir d; echo new > d/made.txt"),
            finish("Done."),
            call("terminal", command="pwd; echo four > a.txt"),
            finish("Done."),
        ]
    )
    async with patient(tmp_path / "s", model) as runtime, Conversation(AGENT, work, runtime=runtime) as talk:
        began = await talk.send_message("go")
        await talk.run()
        (work / "a.txt").write_text("three\n")
        async with await talk.fork(began, files=True) as fork:
            assert fork.state.created is not None
            other = Path(fork.state.created.workspace.path)
            assert other == tmp_path / f"work-{fork.id[-8:]}"
            assert [path.name for path in other.iterdir()] == ["a.txt"]
            assert (other / "a.txt").read_text() == "one\n"
            await fork.send_message("go on")
            await fork.run()
            assert (other / "a.txt").read_text() == "four\n"
            assert (work / "a.txt").read_text() == "three\n"
            asked = model.requests[-2]
            assert str(other) in plain(asked.messages[0].content)
            assert f"From here on you work in {other}" in "".join(plain(one.content) for one in asked.messages)
            await fork.rewind(began, files=True)
            assert (other / "a.txt").read_text() == "one\n"
        async with await talk.fork(files=tmp_path / "named") as fork:
            assert (tmp_path / "named/a.txt").read_text() == "three\n"
            assert (tmp_path / "named/d/made.txt").read_text() == "new\n"


@pytest.mark.simulated
async def test_a_fork_is_not_made_where_something_is(tmp_path: Path) -> None:
    async with asked(tmp_path) as (work, talk):
        for place in (tmp_path, work, work / "below"):
            with pytest.raises(ConfigurationError):
                await talk.fork(files=place)
        assert [path.name for path in work.iterdir()] == ["a.txt"]
        with pytest.raises(ConversationExists):
            await talk.fork(id=talk.id, files=tmp_path / "gone")
        assert not (tmp_path / "gone").exists()


async def test_a_fork_of_what_nothing_has_changed_yet_has_the_files(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, talk):
        fork = await talk.fork(2, files=tmp_path / "copy")
        assert (tmp_path / "copy/a.txt").read_text() == "one\n"
        assert fork.id != talk.id


async def test_until_a_call_may_write_nothing_has_changed(tmp_path: Path) -> None:
    """Nothing is kept with a message; and a rewind goes back to what is there."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    async with (
        patient(tmp_path / "s", ScriptedLLM([call("think", thought="hm"), finish("Done.")])) as runtime,
        Conversation(AGENT, work, runtime=runtime) as talk,
    ):
        began = await talk.send_message("go")
        await talk.run()
        assert not any(isinstance(event, WorkspaceSnapshot) for event in await logged(talk))
        assert (await talk.workspace.file_changes(began.seq, talk.cursor.seq)).items == ()
        assert (await talk.workspace.file_diff(began.seq, talk.cursor.seq)).diff == ""
        await talk.rewind(began, files=True)
        assert (work / "a.txt").read_text() == "one\n"


async def test_what_a_call_did_that_a_crash_cut_is_the_agents(tmp_path: Path) -> None:
    """A person is not taken for the one who did it, and it goes back."""
    work, store = tmp_path / "work", tmp_path / "s"
    work.mkdir()
    (work / "f").write_text("one\n")
    waits = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo two > f; sleep 60"
    model = ScriptedLLM([call("terminal", command=waits), finish("Done.")])
    async with patient(store, model) as runtime, Conversation(AGENT, free(work), runtime=runtime) as talk:
        began = await talk.send_message("go")
        async for event in talk.run():
            if isinstance(event, WorkspaceSnapshot):
                break
        (tmp_path / "go").touch()
        await eventually(lambda: (work / "f").read_text() == "two\n", "the call has begun")
        shutil.copytree(store, tmp_path / "crashed")
        await talk.interrupt()
    again = ScriptedLLM([call("terminal", command="echo three > g"), finish("Done.")])
    async with patient(tmp_path / "crashed", again) as runtime:
        async with Conversation(id=talk.id, runtime=runtime) as other:
            await other.run()
            await other.rewind(began, files=True)
            assert (work / "f").read_text() == "one\n"
            (restored,) = [event for event in await logged(other) if isinstance(event, FilesRestored)]
            assert (restored.left, restored.restored) == ((), ("f", "g"))


async def test_where_files_were_not_kept_none_go_back(tmp_path: Path) -> None:
    """What is not known is not made up from what was kept before or after."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "f").write_text("one\n")
    commands = ("echo two > f", "truncate -s 2200M big", "echo three > f; rm big", "echo four > f")
    turns = [turn for command in commands for turn in (call("terminal", command=command), finish("Done."))]
    async with patient(tmp_path / "s", ScriptedLLM(turns)) as runtime:
        async with Conversation(AGENT, work, runtime=runtime) as talk:
            places = []
            for _ in commands:
                await talk.send_message("go")
                await talk.run()
                places.append(talk.cursor)
            with pytest.raises(WorkspaceError, match="there are none"):
                await talk.rewind(places[2], files=True)
            assert (work / "f").read_text() == "four\n"
            await talk.rewind(places[0], files=True)
            assert (work / "f").read_text() == "four\n", "nobody knows who has changed it"
            (restored,) = [event for event in await logged(talk) if isinstance(event, FilesRestored)]
            assert restored.left == ("f",)


async def restorations(conversation: Conversation) -> list[FilesRestored]:
    return [event for event in await logged(conversation) if isinstance(event, FilesRestored)]


async def test_files_that_were_left_out_are_not_taken_for_the_agents(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    (work / "data/big").touch()
    os.truncate(work / "data/big", 260 << 20)
    (work / "data/own").write_text("precious\n")
    (work / ".gitignore").write_text("data/\n")
    commands = ("true", "echo '*.pyc' > .gitignore")
    turns = [turn for command in commands for turn in (call("terminal", command=command), finish("Done."))]
    async with (
        patient(tmp_path / "s", ScriptedLLM(turns)) as runtime,
        Conversation(AGENT, work, runtime=runtime) as talk,
    ):
        await talk.prompt("go")
        began = await talk.send_message("go on")
        await talk.run()
        changes = (await talk.workspace.file_changes(began.seq, talk.cursor.seq)).items
        assert [change.path for change in changes] == [".gitignore"]
        await talk.rewind(began, files=True)
        assert (work / ".gitignore").read_text() == "data/\n"
        assert (work / "data/own").read_text() == "precious\n"
        (restored,) = await restorations(talk)
        assert restored.unknown == restored.left == ("data/big", "data/own")
        told = plain([event for event in await logged(talk) if isinstance(event, MessageEvent)][-1].content)
        assert "not known what they were or who made them: data/big, data/own" in told
        assert "Somebody else" not in told


async def test_what_others_do_while_a_file_is_written_is_theirs(tmp_path: Path) -> None:
    """A call that says what it writes has done nothing else."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "theirs.txt").write_text("one\n")
    (work / "link").symlink_to("a.txt")

    @tool(effects=lambda arguments, workspace: Effects(writes=(arguments.path,)))
    def save(path: str) -> str:
        """Save a file.

        Args:
            path: Where.
        """
        (work / path).write_text("an agent's\n")
        (work / "theirs.txt").write_text("a person's\n")
        (work / "more.txt").write_text("a person's, too\n")
        return "saved"

    agent = Agent(llm=LLM(model="scripted"), tools=(save,))
    model = ScriptedLLM([call("save", path="link"), call("save", path="new.txt"), finish("Done.")])
    async with patient(tmp_path / "s", model) as runtime, Conversation(agent, work, runtime=runtime) as talk:
        began = await talk.send_message("go")
        await talk.run()
        changes = (await talk.workspace.file_changes(began.seq, talk.cursor.seq)).items
        assert {change.path: change.by for change in changes} == {
            "a.txt": ("agent",),
            "more.txt": ("people",),
            "new.txt": ("agent",),
            "theirs.txt": ("people",),
        }
        await talk.rewind(began, files=True)
        assert (work / "a.txt").read_text() == "one\n"
        assert not (work / "new.txt").exists()
        assert (work / "theirs.txt").read_text() == "a person's\n"
        assert (work / "more.txt").read_text() == "a person's, too\n"
        (restored,) = await restorations(talk)
        assert restored.left == ("more.txt", "theirs.txt")
        assert (restored.unknown, restored.during) == ((), ())


async def test_what_changes_while_a_command_runs_is_named(tmp_path: Path) -> None:
    """Another agent's file goes back with this one's, and that is said."""
    work = tmp_path / "work"
    work.mkdir()
    waits = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo A > a.txt"
    model = ScriptedLLM([call("terminal", command=waits), finish("Done.")])
    other = ScriptedLLM([call("terminal", command=f"echo B > b.txt; touch {tmp_path}/go"), finish("Done.")])
    async with (
        patient(tmp_path / "s", model) as runtime,
        patient(tmp_path / "s2", other) as second,
        Conversation(AGENT, free(work), runtime=runtime) as talk,
        Conversation(AGENT, free(work), runtime=second) as beside,
    ):
        began = await talk.send_message("go")
        async for event in talk.run():
            if isinstance(event, WorkspaceSnapshot) and event.when == "before":
                await beside.send_message("go")
                await beside.run()
        await talk.rewind(began, files=True)
        (restored,) = await restorations(talk)
        (action,) = [event.seq for event in await logged(talk) if isinstance(event, ActionEvent)][:1]
        assert restored.during == (ChangedDuring(calls=(action,), paths=("a.txt", "b.txt"), count=2),)


async def test_what_a_person_does_before_the_conversation_is_left_is_theirs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    model = ScriptedLLM([call("terminal", command="echo two > made"), finish("Done.")])
    async with patient(tmp_path / "s", model) as runtime:
        async with Conversation(AGENT, work, runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            (work / "theirs").write_text("a person's\n")
        async with Conversation(id=talk.id, runtime=runtime) as talk:
            await talk.rewind(began, files=True)
            assert [path.name for path in work.iterdir()] == ["theirs"]
            assert (await restorations(talk))[0].left == ("theirs",)


async def test_a_tree_that_was_made_too_late_says_so(tmp_path: Path) -> None:
    at_once = waiting(Patience(first=0.0, after=20.0))
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_bytes(os.urandom(60 << 20))
    (work / "z").write_text("one\n")
    model = ScriptedLLM([call("terminal", command="echo two > z"), finish("Done.")])
    async with (
        Runtime(tmp_path / "s", client=model, recast=at_once) as runtime,
        Conversation(AGENT, work, runtime=runtime) as talk,
    ):
        began = await talk.send_message("go")
        await talk.run()
        with pytest.raises(WorkspaceError, match="a call ran already"):
            await talk.rewind(began, files=True)
        (restored,) = await restorations(talk)
        assert restored.tree
        assert "a call ran already" in restored.error


async def test_a_workspace_that_the_agent_removed_comes_back(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    model = ScriptedLLM([call("terminal", command='D=$PWD; cd /; rm -rf "$D"'), finish("Done.")])
    async with patient(tmp_path / "s", model) as runtime, Conversation(AGENT, free(work), runtime=runtime) as talk:
        began = await talk.send_message("go")
        await talk.run()
        assert not work.exists()
        await talk.rewind(began, files=True)
        assert (work / "a.txt").read_text() == "one\n"
        assert [(one.restored, one.left) for one in await restorations(talk)] == [(("a.txt",), ())]


async def test_while_files_could_not_be_kept_nobody_knows_who_changed_them(
    tmp_path: Path,
) -> None:
    """They are left as they are, and are kept again once they can be."""
    work = tmp_path / "work"
    work.mkdir()
    commands = ("echo two > f", "echo three > f", "echo four > f; echo four > g")
    turns = [turn for command in commands for turn in (call("terminal", command=command), finish("Done."))]
    async with (
        patient(tmp_path / "s", ScriptedLLM(turns)) as runtime,
        Conversation(AGENT, work, runtime=runtime) as talk,
    ):
        await talk.send_message("go")
        await talk.run()
        first = talk.cursor
        (journal,) = (tmp_path / "s").glob(f"**/{JOURNAL}")
        journal.rename(tmp_path / "journal")
        journal.mkdir()
        await talk.send_message("go")
        await talk.run()
        journal.rmdir()
        (tmp_path / "journal").rename(journal)
        await talk.send_message("go")
        await talk.run()
        await talk.rewind(first, files=True)
        assert (work / "f").read_text() == "three\n", "as it was when it was kept again"
        assert not (work / "g").exists()
        (restored,) = await restorations(talk)
        assert restored.left == restored.unknown == ("f",)


async def test_a_rewind_waits_for_the_first_tree(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "large").write_bytes(os.urandom(30 << 20))
    async with patient(tmp_path / "s", ScriptedLLM([finish("Done.")])) as runtime:
        async with Conversation(AGENT, work, runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            await talk.rewind(began, files=True)
            assert any(isinstance(event, FilesRestored) and not event.error for event in await logged(talk))
