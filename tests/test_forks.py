"""Forks: conversations that share a beginning."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime, tool
from agentrt.decisions import decide, forked
from agentrt.errors import ConversationExists, ConversationMissing, CursorExpired, EventRefused, LogLocked
from agentrt.events import AgentErrorEvent, ConversationCreated, Event
from agentrt.specs import AlwaysConfirm, LocalWorkspace
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.storage import conversations, read_conversation
from agentrt.testing import ScriptedLLM, call, finish, say
from tests import samples
from tests.histories import histories

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=())


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


async def test_a_fork_shares_records_and_goes_its_own_way(tmp_path: Path) -> None:
    model = ScriptedLLM([say("one"), say("two"), say("another two")])
    runtime = Runtime(tmp_path / "store", client=model)
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="trunk") as trunk:
        await trunk.send_message("first")
        await trunk.run()
        at = trunk.cursor
        await trunk.send_message("second")
        await trunk.run()
        async with await trunk.fork(at, id="twig") as twig:
            assert (twig.state.status, twig.state.ledger.usage.prompt_tokens) == (ExecutionStatus.IDLE, 0)
            await twig.send_message("second, differently")
            await twig.run()
            own = [event async for event in twig.events()]
            assert [event.seq for event in own] == list(range(1, twig.state.seq + 1))
        shared = [event async for event in trunk.events()][: at.seq]
    assert own[: at.seq] == shared
    assert read_conversation(tmp_path / "store/conversations/twig") == own
    lines = (tmp_path / "store/conversations/twig/events.jsonl").read_bytes().splitlines()
    assert len(lines) == len(own) - at.seq, "what is shared is not copied"
    said = [[m.content[0].text for m in r.messages[1:]] for r in model.requests]  # type: ignore[union-attr]
    assert said[2] == ["first", "one", "second, differently"]
    async with Runtime(tmp_path / "store", client=ScriptedLLM([say("three")])) as runtime:
        async with Conversation(id="twig", runtime=runtime) as twig:
            await twig.send_message("third")
            assert (await twig.run()).status is ExecutionStatus.FINISHED


@pytest.mark.real
async def test_a_fork_goes_on_with_another_agent(tmp_path: Path) -> None:
    model = ScriptedLLM([say("one"), call("greet", name="Ada"), say("two"), say("three")])
    runtime = Runtime(tmp_path / "store", client=model)
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, title="Trunk", tags={"a": "1"}) as trunk:
        await trunk.prompt("first")
        begun = trunk.cursor
        assert (trunk.state.ledger.title, trunk.state.ledger.tags) == ("Trunk", {"a": "1"})
        other = Agent(llm=LLM(model="other"), tools=[greet], system_prompt="Be kind.")
        async with await trunk.fork(agent=other, title="Twig", tags={"b": "2"}, id="twig") as twig:
            assert (twig.state.ledger.title, twig.state.ledger.tags) == ("Twig", {"b": "2"})
            assert await twig.prompt("greet Ada") == "two"
            await twig.rewind(begun)
            assert await twig.prompt("again") == "three"
        async with await trunk.fork() as same:
            assert (same.state.ledger.title, same.state.ledger.tags) == ("Trunk", {})
    for request in model.requests[1:]:
        assert request.one.model == "other"
        assert "greet" in [definition.name for definition in request.tools]
        systems = [plain(message.content) for message in request.messages if message.role == "system"]
        assert [system.startswith("Be kind.") for system in systems] == [True]
    async with Runtime(tmp_path / "store", client=ScriptedLLM([say("four")])) as runtime:
        async with Conversation(id="twig", runtime=runtime, tools=[greet]) as twig:
            assert await twig.prompt("And now?") == "four"


async def test_what_a_fork_is_called_hides_secrets(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    secrets = {"KEY": "canary-5up3r-s3cret-v4lue"}
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, secrets=secrets) as trunk:
        async with await trunk.fork(title="of canary-5up3r-s3cret-v4lue") as twig:
            assert twig.state.ledger.title == "of <secret-hidden>"


@pytest.mark.real
async def test_what_waits_in_the_parent_is_cancelled_in_the_fork(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(), analyzer="rules", confirmation=AlwaysConfirm())
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([call("greet", name="Ada"), finish("Well.")]))
    async with runtime, Conversation(agent, tmp_path, runtime=runtime, tools=[greet]) as trunk:
        await trunk.send_message("greet")
        await trunk.run()
        assert len(trunk.pending_confirmation) == 1
        async with await trunk.fork() as twig:
            assert twig.state.branch.pending == ()
            told = [e async for e in twig.events() if isinstance(e, AgentErrorEvent)]
            assert "forked" in told[0].error
        assert len(trunk.pending_confirmation) == 1


async def test_a_fork_of_a_fork_and_a_rewind_before_its_beginning(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say(str(n)) for n in range(9)]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as one:
        await one.send_message("a")
        await one.run()
        first = one.cursor
        async with await one.fork() as two:
            await two.send_message("b")
            await two.run()
            async with await two.fork(first) as early, await two.fork() as three:
                assert early.state.seq == first.seq + 1
                assert [e.seq async for e in three.events(first)] == list(range(first.seq + 1, three.state.seq + 1))
                await three.rewind(to=3)
                assert [seen.type for seen in three.state.branch.queued] == ["MessageEvent"]
                await three.send_message("c")
                assert (await three.run()).status is ExecutionStatus.FINISHED


async def test_a_deleted_parent_stays_while_it_is_shared(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="trunk") as trunk:
            await trunk.send_message("first")
            await trunk.fork(id="twig")
        await runtime.store.delete("trunk")
        assert [path.name for path in conversations(store)] == ["twig"]
        with pytest.raises(ConversationMissing):
            await runtime.open("trunk")
        async with Conversation(id="twig", runtime=runtime) as twig:
            assert [event async for event in twig.events()]
        await runtime.store.delete("twig")
        assert list((store / "conversations").iterdir()) == []
        with pytest.raises(ConversationMissing):
            await runtime.store.delete("twig")


async def test_what_cannot_be_forked(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "store", client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="trunk") as trunk:
            with pytest.raises(CursorExpired, match="the log ends with 2"):
                await trunk.fork(99)
            with pytest.raises(EventRefused, match="too early"):
                await trunk.fork(1)
            with pytest.raises(ConversationExists):
                await trunk.fork(id="trunk")
            async with await trunk.fork(id="after-a-refusal"):
                pass
        with pytest.raises(EventRefused, match="no event 99"):
            await runtime.fork("trunk", 99, "later")
        with pytest.raises(ConversationMissing):
            await runtime.fork("nobody", 1)


async def test_forks_and_a_deletion_at_once(tmp_path: Path) -> None:
    """A fork that was acknowledged has its records, whatever became of its parent."""
    async with Runtime(tmp_path / "store", client=ScriptedLLM([])) as runtime:
        for turn in range(10):
            async with Conversation(AGENT, tmp_path, runtime=runtime, id=f"trunk-{turn}") as trunk:
                await trunk.send_message("hello")
            made: list[str] = []

            async def fork(name: str, trunk: str = f"trunk-{turn}", made: list[str] = made) -> None:
                with contextlib.suppress(ConversationMissing, LogLocked):
                    made.append(await runtime.fork(trunk, 3, name))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fork, f"one-{turn}")
                tasks.start_soon(fork, f"two-{turn}")
                tasks.start_soon(runtime.store.delete, f"trunk-{turn}")
            for name in made:
                assert len([event async for event in runtime.store.history(name).read()]) == 4


async def test_a_copied_conversation_is_its_own(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="one") as one:
            await one.send_message("hello")
        shutil.copytree(store / "conversations/one", store / "conversations/two")
        async with Conversation(id="one", runtime=runtime) as one, Conversation(id="two", runtime=runtime) as two:
            await one.send_message("of one")
            await two.send_message("of two")
            assert "of two" in str([event async for event in two.events(3)])


async def test_an_opening_that_is_cancelled_keeps_its_lock_until_it_has_ended(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("hello")
        for turn in range(30):
            (store / "conversations/c/memo.bin").unlink(missing_ok=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(Conversation(id="c", runtime=runtime).__aenter__(), turn / 5_000)
                break
            async with Conversation(id="c", runtime=runtime) as again:
                await again.send_message(f"{turn}")
    assert len(read_conversation(store / "conversations/c")) >= 3


@pytest.mark.pure
@given(histories(), st.data())
def test_a_fork_anywhere_is_a_valid_history(events: list[Event], data: st.DataObject) -> None:
    """Nothing is open in it, each call has its result, and it waits for a person."""
    assume(len(events) >= 2)
    at = data.draw(st.integers(2, len(events)))
    parent = fold(events[:at])
    created = ConversationCreated(
        conversation_id="twig", agent=parent.spec, workspace=LocalWorkspace("/work"), parent="trunk"
    )
    own = samples.numbered(forked(parent, created), at + 1)
    state = fold(own, parent)
    assert state == fold([*events[:at], *own])
    assert (state.in_flight, state.branch.pending, decide(state)) == ((), (), ())
    calls = {seen.id for seen in state.branch.view if seen.type == "ActionEvent"}
    assert calls == {seen.action_id for seen in state.branch.view if seen.action_id}
