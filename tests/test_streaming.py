"""Text and output as they stream out of a conversation at work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio import wait_all_tasks_blocked

from agentrt import Agent, Conversation, Delta, Event, ExecutionStatus, Observation, ToolContext
from agentrt.context.replies import ModelReply
from agentrt.errors import ModelUnavailable
from agentrt.events import AgentErrorEvent, MessageEvent, ModelCalled, ModelCallRetried, ObservationEvent
from agentrt.protocols import FailedTry, ModelRequest, Watch
from agentrt.specs import LLM
from agentrt.specs.content import plain, text
from agentrt.testing import ScriptedLLM, calls, say
from agentrt.tools import ToolType

from .actors.test_feed import growing

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=(), checkpoints=False)


class Slow(ScriptedLLM):
    """A model that shows some pieces, waits until it is let go on, and then answers or fails."""

    def __init__(self, *pieces: tuple[str, str], failure: ModelUnavailable | None = None) -> None:
        super().__init__([])
        self._pieces, self._failure = pieces, failure
        self.waits, self.go_on = anyio.Event(), anyio.Event()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        for channel, piece in self._pieces:
            watch.show("text" if channel == "text" else "reasoning", piece)
            await anyio.lowlevel.checkpoint()
        self.waits.set()
        await self.go_on.wait()
        if self._failure is not None:
            raise self._failure
        return say("".join(piece for channel, piece in self._pieces if channel == "text") + " The end.")


class Nothing(msgspec.Struct, frozen=True):
    """No arguments."""


class Noisy:
    """A tool that shows output and then waits until it is let go on."""

    def __init__(self) -> None:
        self.waits, self.go_on = anyio.Event(), anyio.Event()
        self.tool = ToolType(name="noisy", description="Make noise.", action=Nothing, executor=lambda params: self)

    async def __call__(self, action: Nothing, context: ToolContext) -> Observation:
        context.output("one\n")
        context.output("two\n")
        self.waits.set()
        await self.go_on.wait()
        return Observation(content=text("one\ntwo\nthree\n"))

    async def aclose(self) -> None:
        """Nothing to give up."""


async def drain(conversation: Conversation) -> None:
    await conversation.run()


async def first_delta(stream: AsyncIterator[Event | Delta]) -> Delta:
    async for item in stream:
        if isinstance(item, Delta):
            return item
    raise AssertionError("no delta came")


async def test_a_late_subscriber_gets_the_draft_so_far_and_then_the_event_in_its_place(tmp_path: Path) -> None:
    model = Slow(("text", "Hello,"), ("text", " you."))
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=model) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain, conversation)
            await model.waits.wait()
            for after in (0, conversation.cursor):
                async with aclosing(conversation.stream(after)) as stream:  # type: ignore[type-var]
                    assert (await first_delta(stream)).text == "Hello, you."
            async with aclosing(conversation.stream(conversation.cursor)) as stream:  # type: ignore[type-var]
                seq = conversation.state.seq
                draft = await anext(stream)
                model.go_on.set()
                called, answer = await anext(stream), await anext(stream)
        assert isinstance(called, ModelCalled)
        assert isinstance(answer, MessageEvent)
        assert draft == Delta(answer.id, "text", "Hello, you.", 0, seq)
        assert plain(answer.content) == "Hello, you. The end."
        assert growing() == []


async def test_an_interrupted_call_leaves_its_text_as_a_message_and_no_draft(tmp_path: Path) -> None:
    for pieces in ((("reasoning", "Hm"),), (("reasoning", "Hm"), ("text", "Hello"))):
        model = Slow(*pieces)
        async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=model) as conversation:
            await conversation.send_message("go")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain, conversation)
                await model.waits.wait()
                assert len(growing()) == len(pieces)
                await conversation.interrupt()
            events = [event async for event in conversation.events()]
            assert [e.partial for e in events if isinstance(e, MessageEvent)] == [False, True][: len(pieces)]
            assert growing() == []


async def test_a_failed_call_leaves_no_draft(tmp_path: Path) -> None:
    model = Slow(("text", "Hello"), failure=ModelUnavailable("the line was cut"))
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=model) as conversation:
        await conversation.send_message("go")
        model.go_on.set()
        assert (await conversation.run()).status is ExecutionStatus.ERROR
        assert growing() == []


class TriesTwice(ScriptedLLM):
    """A model whose first try fails in the middle of its text."""

    def __init__(self) -> None:
        super().__init__([])

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        watch.show("text", "Hel")
        await wait_all_tasks_blocked()
        watch.show("text", "lo")
        await watch.failed(FailedTry(1, "scripted", "scripted", "unavailable", "the line was cut"))
        watch.show("text", "Good")
        await wait_all_tasks_blocked()
        return say("Good day.")


async def test_a_call_that_is_tried_again_is_a_draft_of_its_own(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=TriesTwice()) as conversation:
        await conversation.send_message("go")
        items = [item async for item in conversation.run().stream()]
    (retried,) = [item for item in items if isinstance(item, ModelCallRetried)]
    (answer,) = [item for item in items if isinstance(item, MessageEvent)]
    deltas = [item for item in items if isinstance(item, Delta)]
    assert [(delta.becomes, delta.text) for delta in deltas] == [(retried.draft, "Hel"), (answer.id, "Good")]
    assert items.index(deltas[0]) < items.index(retried) < items.index(deltas[1]) < items.index(answer)
    assert growing() == []


async def test_output_of_a_tool_streams_until_its_result(tmp_path: Path) -> None:
    noisy = Noisy()
    client = ScriptedLLM([calls(("noisy", {})), say("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[noisy.tool], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain, conversation)
            await noisy.waits.wait()
            async with aclosing(conversation.stream(conversation.cursor)) as stream:  # type: ignore[type-var]
                output = await first_delta(stream)
                assert (output.channel, output.text, output.start) == ("output", "one\ntwo\n", 0)
                noisy.go_on.set()
                result = await anext(stream)
        assert isinstance(result, ObservationEvent)
        assert result.id == output.becomes
        assert growing() == []


async def test_output_of_an_interrupted_tool_ends_with_its_error(tmp_path: Path) -> None:
    noisy = Noisy()
    client = ScriptedLLM([calls(("noisy", {})), say("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[noisy.tool], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain, conversation)
            await noisy.waits.wait()
            (draft,) = growing()
            await conversation.interrupt()
        events = [event async for event in conversation.events()]
        (error,) = [event for event in events if isinstance(event, AgentErrorEvent)]
        assert "one\ntwo" in error.error
        assert error.id == draft
        assert growing() == []


async def test_leaving_a_stream_in_the_middle_does_not_affect_the_run(tmp_path: Path) -> None:
    model = Slow(("text", "Hello,"), ("text", " you."))
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=model) as conversation:
        await conversation.send_message("go")
        async for item in conversation.run().stream():
            if isinstance(item, Delta):
                break
        await wait_all_tasks_blocked()
        model.go_on.set()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert growing() == []
