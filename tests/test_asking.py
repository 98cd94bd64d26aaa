"""What is asked and said besides the task: side questions, titles and tags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Limits, Observation, Runtime, ToolContext, tool
from agentrt.context.titles import LONGEST_TAG
from agentrt.errors import ConfigurationError, ModelError, ModelUnavailable
from agentrt.events import ModelCalled, TitleChanged
from agentrt.protocols import ModelRequest
from agentrt.secrets import HIDDEN
from agentrt.specs import ImageContent, TextContent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, ScriptedProvider, calls, say
from agentrt.testing.scripted import Turn
from agentrt.tools import ToolType

from .proofs.waiting import eventually
from .steering import HeldModel

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-6), tools=())
WIRES = ["llm", "responses_llm", "anthropic_llm"]


class Waiting:
    """Two tools: `quick` returns at once, `slow` when it is let go on."""

    def __init__(self) -> None:
        self.waits, self.go_on = anyio.Event(), anyio.Event()

    def tools(self) -> list[ToolType]:
        @tool(resources=lambda action, workspace: ())
        async def slow() -> str:
            """Take long."""
            self.waits.set()
            await self.go_on.wait()
            return "slowly done"

        @tool(resources=lambda action, workspace: ())
        async def quick() -> str:
            """Be quick."""
            return "quickly done"

        return [slow, quick]


def kinds(events: Iterable[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def is_aside(body: dict[str, Any]) -> bool:
    said: list[Any] = body.get("messages") or body["input"]
    return "besides the task" in str(said[-1])


@pytest.mark.real
@pytest.mark.parametrize("wire", WIRES)
async def test_a_question_in_the_middle_of_a_batch_is_answered_and_leaves_no_trace(tmp_path: Path, wire: str) -> None:
    """A result is there, another one is not: what the provider is sent is a whole history all the same."""
    waiting = Waiting()
    turns = iter([calls(("quick", {})), calls(("quick", {}), ("slow", {}), ("quick", {})), say("Done.")])
    async with ScriptedProvider(lambda body: say("All is well.") if is_aside(body) else next(turns)) as provider:
        spec = Agent(llm=getattr(provider, wire)(), tools=(), limits=Limits(tool_concurrency=3))
        runtime = Runtime(tmp_path / "store", environment={"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"})
        async with runtime, Conversation(spec, tmp_path, runtime=runtime, tools=waiting.tools()) as conversation:
            await conversation.send_message("Work.")
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    await conversation.run()

                tasks.start_soon(run)
                await waiting.waits.wait()
                await eventually(lambda: len(conversation.state.branch.pending) == 1, "the quick ones are done")
                before = conversation.state
                assert await conversation.ask_agent("How is it going?") == "All is well."
                after = conversation.state
                assert after.branch == before.branch
                assert kinds([event async for event in conversation.events(before.seq)]) == ["ModelCalled"]
                waiting.go_on.set()
            assert conversation.state.status is ExecutionStatus.FINISHED
            spent = conversation.state.ledger.spending
            assert spent["ask-agent"].calls == 1
            assert spent["ask-agent"].usage.prompt_tokens > 0
        assert provider.refused == []
        assert not any(is_aside(body) for body in provider.requests[-1:])
        aside = next(body for body in provider.requests if is_aside(body))
        assert str(aside).count("quickly done") == 1, "of the batch that is open nothing is told"


async def test_a_question_while_the_model_is_called(tmp_path: Path) -> None:
    client = HeldModel([say("Yes?"), say("Done.")], held=[0])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("Work.")
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await conversation.run()

            tasks.start_soon(run)
            await client.calling()
            assert await conversation.ask_agent("Are you there?") == "Yes?"
            client.release()
        events = kinds([event async for event in conversation.events()])
        assert conversation.state.status is ExecutionStatus.FINISHED
    assert events[2:] == [
        "MessageEvent",
        "RunRequested",
        "ModelCallStarted",
        "ModelCalled",
        "ModelCalled",
        "MessageEvent",
        "RunEnded",
    ]
    assert [message.role for message in client.requests[1].messages] == ["system", "user", "user"]


async def test_a_question_before_anything_was_said(tmp_path: Path) -> None:
    client = ScriptedLLM([say("I am a test.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        assert await conversation.ask_agent("Who are you?") == "I am a test."
        assert (await conversation.run()).status is ExecutionStatus.IDLE


async def test_a_question_that_fails_or_is_given_up_costs_what_it_used(tmp_path: Path) -> None:
    client = HeldModel([ModelUnavailable("down"), say("Never.")], held=[1])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        with pytest.raises(ModelError, match="down"):
            await conversation.ask_agent("Hello?")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(conversation.ask_agent, "Hello?")
            await client.calling()
            tasks.cancel_scope.cancel()
        called = [event async for event in conversation.events() if isinstance(event, ModelCalled)]
        assert [(event.usage_id, event.error) for event in called] == [
            ("ask-agent", "unavailable"),
            ("ask-agent", "interrupted"),
        ]
        assert conversation.state.ledger.reserved == {}


@pytest.mark.real
async def test_a_question_is_answered_by_who_sees_the_images(tmp_path: Path) -> None:
    class Camera:
        async def __call__(self, action: Any, context: ToolContext) -> Observation:
            kept = await context.keep(b"\x89PNG", "photo", "image/png")
            return Observation(content=(TextContent("a photo"), kept))

        async def aclose(self) -> None:
            return None

    @tool
    async def look() -> str:
        """Take a photo."""
        return ""

    camera = ToolType(name="look", description="Look.", action=look.action, executor=lambda params: Camera())
    client = ScriptedLLM([calls(("look", {})), say("Nice."), say("A photo.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, tools=[camera]) as conversation:
        await conversation.send_message("Look.")
        await conversation.run()
        await conversation.ask_agent("What did you see?")
    (result,) = [message for message in client.requests[2].messages if message.role == "tool"]
    assert [block.url for block in result.content if isinstance(block, ImageContent)] == [
        "data:image/png;base64,iVBORw=="
    ]


async def test_a_side_question_has_the_budget_of_the_conversation(tmp_path: Path) -> None:
    client = ScriptedLLM([say("Yes.")])
    spec = Agent(llm=AGENT.llm, tools=(), limits=Limits(max_cost=1e-9))
    async with Conversation(spec, tmp_path, store=tmp_path / "s", client=client) as conversation:
        with pytest.raises(ModelError):
            await conversation.ask_agent("Can you pay for this?")
        assert client.requests == []
        assert conversation.state.ledger.cost == 0


def titles(turns: Iterable[Turn]) -> ScriptedLLM:
    given = iter(turns)

    def script(request: ModelRequest) -> Turn:
        return next(given) if "a title of at most" in plain(request.messages[0].content) else say("Hello.")

    return ScriptedLLM(script)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        (say('"🐛 Mend the parser"\n'), "🐛 Mend the parser"),
        (say("🐛 " + "very " * 20 + "long"), "🐛 " + "very " * 8 + "very..."),
        (say(" \n"), "Mend the parser of the tests, it loses the last..."),
        (ModelUnavailable("down"), "Mend the parser of the tests, it loses the last..."),
    ],
)
async def test_a_title_is_made_of_the_first_message(tmp_path: Path, answer: Turn, title: str) -> None:
    client = titles([answer])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, tools=[]) as conversation:
        await conversation.send_message("Mend the parser\nof the tests, it loses the last line of \x1b[31meach file.")
        await conversation.run()
        await conversation.send_message("Now.")
        assert await conversation.generate_title() == title
        assert conversation.state.ledger.title == title
        assert len(title) <= 50
        name = conversation.id
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert "title" in conversation.state.ledger.spending
        assert [plain(message.content) for message in client.requests[-1].messages[1:]][-1] == "Now."
    async with Conversation(id=name, store=tmp_path / "s", client=titles([])) as conversation:
        assert conversation.state.ledger.title == title


async def test_without_a_message_there_is_no_title(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=titles([])) as conversation:
        assert await conversation.generate_title() == ""


async def test_titles_and_tags_are_kept_and_no_rewind_takes_them(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=titles([])) as conversation:
        name, before = conversation.id, conversation.state.seq
        await conversation.rename("The\nparser\x07")
        await conversation.set_tags({"team": "core", "x1": ""})
        await conversation.set_tags({"team": "core", "ticket": "1234"})
        await conversation.rewind(before)
        events = [event async for event in conversation.events() if isinstance(event, TitleChanged)]
        assert [(event.title, event.source) for event in events] == [("The parser", "user")]
        with pytest.raises(ConfigurationError, match="small letters and digits"):
            await conversation.set_tags({"Team": "core"})
        with pytest.raises(ConfigurationError, match=f"at most {LONGEST_TAG} characters"):
            await conversation.set_tags({"team": "x" * (LONGEST_TAG + 1)})
    async with Conversation(id=name, store=tmp_path / "s", client=titles([])) as conversation:
        kept = conversation.state.ledger
        assert (kept.title, kept.tags) == ("The parser", {"team": "core", "ticket": "1234"})


async def test_what_a_failed_question_says_is_masked(tmp_path: Path) -> None:
    client, token = ScriptedLLM([ModelUnavailable("refused ghp_0123456789")]), {"TOKEN": "ghp_0123456789"}
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, secrets=token) as conversation:
        with pytest.raises(ModelUnavailable, match=f"refused {HIDDEN}"):
            await conversation.ask_agent("Well?")


async def test_without_a_message_a_title_stays(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([])) as conversation:
        await conversation.rename("Mine")
        assert await conversation.generate_title() == ""
        assert conversation.state.ledger.title == "Mine"
