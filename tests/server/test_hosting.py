from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, Runtime, State, Tool, tool
from agentrt.context.replies import ModelReply
from agentrt.controls import AnyControl, Fork, Forked, Interrupt, Pause, Rename, SendMessage, StartRun
from agentrt.errors import ConfigurationError, ConversationMissing, LimitReached, LogCorrupt
from agentrt.host import Opening
from agentrt.listing import Row
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.server import ServerSettings
from agentrt.server.hosting import Hosting
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.server.problems import Refusal
from agentrt.specs import AnyLLM
from agentrt.specs.quota import Quota
from agentrt.testing import ScriptedLLM, call, finish
from tests.crashed import crashed
from tests.proofs.waiting import eventually
from tests.steering import HeldModel

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted/model"), confirmation=ConfirmRisky())
ADA = Principal("ada", frozenset({Scope.OBSERVE, Scope.STEER}))
BOB = Principal("bob", frozenset({Scope.OBSERVE, Scope.STEER}))


@asynccontextmanager
async def hosting(directory: Path, model: ModelClient | None = None, **settings: object) -> AsyncIterator[Hosting]:
    """The conversations of a server on a store in `directory`."""
    workspaces = directory / "workspaces"
    workspaces.mkdir(parents=True, exist_ok=True)
    asked = ServerSettings(workspaces=(workspaces,), **settings)  # type: ignore[arg-type]
    async with (
        Runtime(directory / "store", client=model or ScriptedLLM([])) as runtime,
        Hosting(runtime, asked) as made,
    ):
        yield made


async def at_rest(conversation: Conversation) -> State:
    """The state once nothing runs."""
    if not conversation.state.at_rest:
        with anyio.fail_after(10):
            async for _ in conversation.stream(conversation.cursor):
                if conversation.state.at_rest:
                    break
    return conversation.state


def ids(rows: list[Row]) -> set[str]:
    return {row.id for row in rows}


async def test_everyone_sees_his_own(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        await conversations.create(AGENT, BOB, conversation_id="b")
        with pytest.raises(ConversationMissing):
            await conversations.get("a", BOB)
        assert ids(await conversations.page(ADA)) == {"a"}
        assert ids(await conversations.page(EVERYONE)) == {"a", "b"}
        assert await conversations.page(Principal(None, frozenset({Scope.OBSERVE}))) == []
    async with hosting(tmp_path) as conversations:
        assert [(row.id, row.owner) for row in await conversations.page(BOB)] == [("b", "bob")]
        with pytest.raises(ConversationMissing):
            await conversations.get("b", ADA)


@pytest.mark.real
async def test_the_list_says_what_is_in_memory(tmp_path: Path) -> None:
    async with hosting(tmp_path, ScriptedLLM([finish("Done.")])) as conversations:
        conversation = await conversations.create(AGENT, ADA, conversation_id="a")
        await conversation.send_message("Mend the tests")
        await conversation.set_tags({"team": "core"})
        await conversation.run()
        (row,) = await conversations.page(ADA, status="finished", query="mend", tags={"team": "core"})
        assert (row.title, row.events, row.completion_tokens > 0) == ("Mend the tests", conversation.cursor.seq, True)
        assert await conversations.page(ADA, query="other") == []
        assert await conversation.rest()
        assert ids(await conversations.page(ADA, query="mend")) == {"a"}, "also asleep"


async def test_a_fork_has_the_same_owner(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        original = await conversations.create(AGENT, ADA, conversation_id="a", secrets={"TOKEN": "0123456789"})
        await conversations.do("a", SendMessage(content="Go"), ADA)
        made = await conversations.do("a", Fork(id="f"), EVERYONE)
        assert made == Forked("f")
        fork = await conversations.get("f", ADA)
        assert fork.state.created is not None
        assert (fork.state.created.owner, fork.state.created.parent) == ("ada", "a")
        assert fork.missing_secrets == original.missing_secrets == ()
        with pytest.raises(ConversationMissing):
            await conversations.get("f", BOB)


async def test_what_is_deleted_is_gone(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        with pytest.raises(ConversationMissing):
            await conversations.delete("a", BOB)
        await conversations.delete("a", ADA)
        with pytest.raises(ConversationMissing):
            await conversations.get("a", ADA)
        with pytest.raises(ConversationMissing):
            await conversations.delete("a", EVERYONE)
        assert await conversations.page(ADA) == []


async def test_an_admin_deletes_what_is_damaged(tmp_path: Path) -> None:
    log = tmp_path / "store" / "conversations" / "a" / "events.jsonl"
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
    log.write_bytes(b"x" + log.read_bytes()[1:])
    async with hosting(tmp_path) as conversations:
        await conversations.delete("a", EVERYONE)
        assert await conversations.page(EVERYONE) == []


async def test_a_workspace_is_below_those_of_the_server(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        for place in ("..", "/etc", "a/../../b"):
            with pytest.raises(ConfigurationError, match="not below"):
                await conversations.create(AGENT, ADA, place)


async def test_what_sleeps_and_nobody_needs_has_no_place(tmp_path: Path) -> None:
    async with hosting(tmp_path, forget_after=0.2) as conversations:
        for name in ("awake", "followed", "asleep"):
            await conversations.create(AGENT, ADA, conversation_id=name)
        conversations.followed = lambda name: name == "followed"
        for name in ("followed", "asleep"):
            assert await (await conversations.get(name, ADA)).rest()
        await eventually(lambda: len(conversations) == 2, "one has no place any more")
        assert conversations.state("asleep") is None
        assert conversations.state("awake") is not None
        assert conversations.state("followed") is not None
        again = await conversations.get("asleep", ADA)
        await again.rename("It is back")


async def test_while_the_server_stops_only_what_stops_is_done(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        await conversations.drain(1.0)
        for control in (SendMessage(content="more"), Fork(), Rename(title="x")):
            with pytest.raises(Refusal) as refused:
                await conversations.do("a", control, ADA)
            assert (refused.value.problem.status, refused.value.problem.code) == (503, "draining")
        with pytest.raises(Refusal):
            await conversations.create(AGENT, ADA)
        await conversations.do("a", Pause(), ADA)
        await conversations.do("a", Interrupt(), ADA)


@pytest.mark.real
@pytest.mark.parametrize("resume", [True, False])
async def test_what_a_stop_paused_goes_on_if_told_so(tmp_path: Path, resume: bool) -> None:
    model = HeldModel([call("think", thought="Hm."), finish("Done.")], held=(0, 1))
    async with hosting(tmp_path, model) as conversations:
        for name in ("stopped", "paused", "idle"):
            await conversations.create(AGENT, ADA, conversation_id=name)
        await conversations.do("paused", SendMessage(content="Go", run=True), ADA)
        await model.calling()
        await conversations.do("paused", Interrupt(), ADA)
        await conversations.do("stopped", SendMessage(content="Go", run=True), ADA)
        await model.calling()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(conversations.drain, 10.0)
            await anyio.wait_all_tasks_blocked()
            model.release()
    async with hosting(tmp_path, model, resume_running=resume) as conversations:
        await conversations.recover()
        if resume:
            went_on = await conversations.get("stopped", ADA)
            with anyio.fail_after(30):
                state = await went_on.run()
            assert state.status is ExecutionStatus.FINISHED
        found = {row.id: row.status for row in await conversations.page(ADA)}
        assert found == {"stopped": "finished" if resume else "paused", "paused": "paused", "idle": "idle"}


class Unprepared(HeldModel):
    """A model whose client is still being loaded, which a run waits for."""

    def __init__(self) -> None:
        super().__init__([finish("Done.")])
        self.asked, self.loaded = anyio.Event(), anyio.Event()

    async def prepare(self, llm: AnyLLM) -> None:
        self.asked.set()
        await self.loaded.wait()


async def killed_at_work(directory: Path, *controls: AnyControl) -> Path:
    """A store whose server was killed while a conversation waited for its model, after more controls."""
    model = HeldModel([finish("Done.")])
    async with hosting(directory / "first", model) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        await conversations.do("a", SendMessage(content="Go", run=True), ADA)
        await model.calling()
        for control in controls:
            await conversations.do("a", control, ADA)
        crashed(directory / "first" / "store", directory / "killed" / "store")
    return directory / "killed"


async def killed_again(directory: Path, name: str = "again") -> Path:
    """The store after its next server was killed, too, while it resumed what had been running."""
    model = Unprepared()
    async with hosting(directory, model, resume_running=True) as conversations, anyio.create_task_group() as tasks:
        tasks.start_soon(conversations.recover)
        with anyio.fail_after(10):
            await model.asked.wait()
        crashed(directory / "store", directory / name / "store")
        tasks.cancel_scope.cancel()
    return directory / name


async def resumed(directory: Path) -> ExecutionStatus:
    """The status of the conversation after a start with `resume_running`, once nothing runs."""
    model = ScriptedLLM([finish("Done.")])
    async with hosting(directory, model, resume_running=True) as conversations:
        await conversations.recover()
        return (await at_rest(await conversations.get("a", ADA))).status


@pytest.mark.real
async def test_what_was_killed_while_it_was_resumed_is_resumed_again(tmp_path: Path) -> None:
    place = await killed_at_work(tmp_path)
    for name in ("again", "and-again"):
        place = await killed_again(place, name)
    (row,) = await Runtime(place / "store", client=ScriptedLLM([])).store.listing.page()
    assert row.status == "paused", "the pause of the recovery is the last that its log says"
    assert await resumed(place) is ExecutionStatus.FINISHED


@pytest.mark.real
@pytest.mark.parametrize("word", [Pause(), Interrupt()])
async def test_what_a_person_stopped_stays_so_however_often_its_server_dies(tmp_path: Path, word: AnyControl) -> None:
    """The recovery closes the call that was still in flight, and also logs a pause."""
    place = await killed_at_work(tmp_path, word)
    async with hosting(place) as conversations:
        await conversations.get("a", ADA)
        crashed(place / "store", place / "again" / "store")
    assert await resumed(place / "again") is ExecutionStatus.PAUSED


@pytest.mark.real
@pytest.mark.parametrize("drained", [True, False])
async def test_what_is_only_about_to_run_when_the_server_stops_goes_on_after_it(tmp_path: Path, drained: bool) -> None:
    model = Unprepared()
    async with hosting(tmp_path, model) as conversations, anyio.create_task_group() as tasks:
        await conversations.create(AGENT, ADA, conversation_id="a")
        await conversations.do("a", SendMessage(content="Go"), ADA)
        tasks.start_soon(conversations.do, "a", StartRun(), ADA)
        with anyio.fail_after(10):
            await model.asked.wait()
        if drained:
            await conversations.drain(0.0)
        model.loaded.set()
        with anyio.fail_after(10):
            await model.calling()
    assert await resumed(tmp_path) is ExecutionStatus.FINISHED


@pytest.mark.real
async def test_one_that_is_at_work_elsewhere_is_left_alone(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")], held=(0,))
    async with hosting(tmp_path, model) as elsewhere:
        await elsewhere.create(AGENT, ADA, conversation_id="a")
        await elsewhere.do("a", SendMessage(content="Go", run=True), ADA)
        await model.calling()
        async with hosting(tmp_path, resume_running=True) as conversations:
            await conversations.recover()
            assert len(conversations) == 0
        model.release()


async def test_one_that_is_delegated_to_is_shared_with_whom_it_works_for(tmp_path: Path) -> None:
    """It is in memory while that one has it open, whether somebody looks on or not."""
    async with hosting(tmp_path, ScriptedLLM([]), forget_after=0.0) as conversations:
        parent = await conversations.create(AGENT, ADA, conversation_id="parent")
        runtime = conversations.runtime
        _, group = await runtime.create(AGENT, tmp_path, "child", above=parent.state)
        async with group:
            await group.begin()
        await runtime.release("child")
        child = await conversations.get("child", ADA)
        assert child.state.created is not None
        with pytest.raises(ConversationMissing):
            await conversations.get("child", BOB)
        above = runtime.hosts.join("child", Opening(delegates=True))
        opened = await above.enter()
        assert await conversations.get("child", ADA) is child
        await child.rename("Seen by both")
        assert opened.feed.state.ledger.title == "Seen by both"
        assert not await child.rest()
        assert conversations.state("child") is not None
        await above.leave()
        assert await child.rest()
        await eventually(lambda: conversations.state("child") is None, "it sleeps")
        rows = {row.id: row for row in await conversations.page(ADA)}
        assert (rows["child"].owner, rows["child"].delegated_by) == ("ada", "parent")


@pytest.mark.real
async def test_one_that_crashes_or_floods_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    """Each has a supervised group of its own: a failing tool, model, log or flood ends what is its own only."""

    @tool
    async def flood() -> str:
        """Say much."""
        return "x" * 200_000

    class Failing(ModelClient):
        async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
            if request.conversation == "crash":
                raise RuntimeError("a bug in a client")
            if request.conversation == "flood":
                return call("flood")
            return finish("Done.")

    places = tmp_path / "workspaces"
    places.mkdir()
    settings = ServerSettings(workspaces=(places,))
    runtime = Runtime(tmp_path / "store", client=Failing(), tools=[flood], quota=Quota(bytes=2_000_000))
    async with runtime, Hosting(runtime, settings) as conversations:
        flooding = Agent(llm=AGENT.llm, tools=(Tool("flood"),), stuck=None)
        for name in ("crash", "flood", "broken", "well"):
            await conversations.create(flooding if name == "flood" else AGENT, EVERYONE, conversation_id=name)
        log = tmp_path / "store" / "conversations" / "broken" / "events.jsonl"
        await conversations.do("broken", Rename(title="Broken"), EVERYONE)
        assert await (await conversations.get("broken", EVERYONE)).rest()
        await conversations.do("crash", SendMessage(content="Go", run=True), EVERYONE)
        await conversations.do("flood", SendMessage(content="Go", run=True), EVERYONE)
        log.write_bytes(log.read_bytes().replace(b"scripted", b"sCripted"))
        with pytest.raises(LogCorrupt):
            await conversations.do("broken", SendMessage(content="Go"), EVERYONE)
        for _ in range(20):
            await conversations.do("well", SendMessage(content="Go"), EVERYONE)
            assert (await (await conversations.get("well", EVERYONE)).run()).status is ExecutionStatus.FINISHED
        flooded = await at_rest(await conversations.get("flood", EVERYONE))
        crashed = await at_rest(await conversations.get("crash", EVERYONE))
        assert (flooded.error and flooded.error.code, crashed.status) == ("max_bytes", ExecutionStatus.ERROR)
        with pytest.raises(LimitReached):
            await conversations.do("flood", SendMessage(content="more"), EVERYONE)
        assert {row.id for row in await conversations.page(EVERYONE)} == {"crash", "flood", "broken", "well"}
