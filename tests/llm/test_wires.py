"""What goes over each wire and comes back, through litellm: reasoning, images, caching, tools in the prompt."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt import Agent, Conversation, ExecutionStatus, Limits, Runtime, tool
from agentrt.context.messages import Message, ToolCall
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError
from agentrt.events import ActionEvent, MessageEvent, ModelCalled, ModelCallRetried, ObservationEvent
from agentrt.llm import LimitedClient, LiteLLMClient, ProviderLimits, RetryingClient
from agentrt.protocols import Observation, Watch
from agentrt.specs import ImageContent, TextContent, Thinking
from agentrt.specs.content import text
from agentrt.testing import (
    Cut,
    Fault,
    ScriptedProvider,
    Stall,
    WireName,
    bad_key,
    call,
    calls,
    context_window,
    finish,
    rate_limit,
    say,
)
from agentrt.testing.turns import Turn
from agentrt.usage import Usage

from .calling import WIRES, Shown, llm, request

pytestmark = pytest.mark.real

PNG = ImageContent("data:image/png;base64,iVBORw0KGgo=")
USED = Usage(prompt_tokens=100, completion_tokens=20, cache_read_tokens=60, reasoning_tokens=7)
BLOCKS = {
    "responses": b'[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],'
    b'"encrypted_content":"abc"}]',
    "anthropic": b'[{"type":"thinking","thinking":"Hm","signature":"sig"},{"type":"redacted_thinking","data":"xyz"}]',
}


@tool
async def look(where: str) -> str:
    """Look somewhere."""
    return f"Nothing in {where}."


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_reply_comes_whole_with_its_usage(client: LiteLLMClient, wire: WireName, stream: bool) -> None:
    asked = calls(("look", {"where": "/x"}), ("look", {"where": "é\n"}), thought="I look twice.")
    turn = msgspec.structs.replace(asked, usage=USED, reasoning="" if wire == "anthropic" else "Hm")
    watch = Shown()
    async with ScriptedProvider([turn]) as provider:
        model = llm(provider, wire, stream=stream, usage_id="main")
        reply = await client.complete(request(model), watch)
        assert provider.refused == []
        assert bool(provider.requests[0].get("stream")) is stream
    assert reply.text == "I look twice."
    assert [(c.name, msgspec.json.decode(c.arguments)) for c in reply.tool_calls] == [
        ("look", {"where": "/x"}),
        ("look", {"where": "é\n"}),
    ]
    assert [c.id for c in reply.tool_calls] == [c.id for c in asked.tool_calls]
    assert reply.usage == USED
    assert reply.cost == pytest.approx(100e-6 + 20 * 4e-6)
    assert (reply.model, reply.usage_id, reply.finish_reason) == (model.model, "main", "tool_calls")
    assert reply.reasoning == turn.reasoning
    assert watch.of("text") == ("I look twice." if stream else "")


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", ["responses", "anthropic"])
async def test_reasoning_goes_back_as_it_came(client: LiteLLMClient, wire: WireName, stream: bool) -> None:
    """The provider refuses what is changed, or out of its place."""
    blocks = msgspec.Raw(BLOCKS[wire])
    asked = calls(("look", {"where": "/x"}), ("look", {"where": "/y"}), thought="I look.")
    turn = msgspec.structs.replace(asked, reasoning="Hm", thinking=Thinking("any", blocks))
    watch = Shown()
    async with ScriptedProvider([turn, say("Done.")]) as provider:
        settings: dict[str, Any] = {"thinking_budget": 2048} if wire == "anthropic" else {"reasoning_effort": "high"}
        model = llm(provider, wire, stream=stream, temperature=0.5, **settings)
        reply = await client.complete(request(model), watch)
        assert reply.thinking is not None
        assert reply.thinking.model == model.model
        assert reply.reasoning == "Hm"
        assert watch.of("reasoning") == ("Hm" if stream else "")
        said = Message("assistant", text(reply.text), reply.tool_calls, None, reply.reasoning, reply.thinking)
        results = [Message("tool", text("ok"), tool_call_id=made.id) for made in reply.tool_calls]
        assert (
            await client.complete(request(model, Message("user", text("go")), said, *results), Watch())
        ).text == "Done."
        assert provider.refused == []
        first, second = provider.requests
    if wire == "anthropic":
        assert first["thinking"] == {"type": "enabled", "budget_tokens": 2048}
        assert "temperature" not in first
        assert second["messages"][1]["content"][:2] == msgspec.json.decode(blocks)
    else:
        assert first["reasoning"] == {"effort": "high"}
        assert first["store"] is False
        kinds = [item["type"] for item in second["input"]]
        assert kinds == ["message", "reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
        assert second["input"][1]["encrypted_content"] == "abc"


async def test_reasoning_goes_to_no_other_model(client: LiteLLMClient) -> None:
    thinking = Thinking("anthropic/claude-haiku-4-5", msgspec.Raw(BLOCKS["anthropic"]))
    said = Message("assistant", text("I thought."), thinking=thinking)
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        messages = (Message("user", text("a")), said, Message("user", text("b")))
        await client.complete(request(provider.anthropic_llm(), *messages), Watch())
        await client.complete(request(provider.responses_llm(), *messages), Watch())
    for sent in provider.requests:
        assert b"xyz" not in msgspec.json.encode(sent)


@pytest.mark.parametrize(("model", "back"), [("openai/deepseek-chat", True), ("openai/scripted", False)])
async def test_plain_reasoning_goes_back_where_it_is_wanted(client: LiteLLMClient, model: str, back: bool) -> None:
    asked = (ToolCall("call_1", "look", "{}"),)
    said = Message("assistant", (), asked, reasoning="Because.")
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        result = Message("tool", text("ok"), tool_call_id="call_1")
        await client.complete(request(provider.llm(model=model), Message("user", text("a")), said, result), Watch())
        sent = provider.requests[0]["messages"][2]
    assert sent.get("reasoning_content") == ("Because." if back else None)


async def test_an_effort_that_leaves_no_room_for_an_answer_is_not_asked_for(client: LiteLLMClient) -> None:
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        for most, settings in ((2000, {"reasoning_effort": "high"}), (1500, {"thinking_budget": 4000}), (None, {})):
            model = provider.anthropic_llm(max_output_tokens=most, **settings)
            assert (await client.complete(request(model), Watch())).text == "Done."
        await client.complete(request(provider.anthropic_llm(max_output_tokens=3000, thinking_budget=9000)), Watch())
    assert provider.refused == []
    assert ["thinking" in sent for sent in provider.requests] == [False, False, False, True]
    assert provider.requests[3]["thinking"]["budget_tokens"] == 3000 - 1024


@pytest.mark.parametrize("wire", WIRES)
async def test_images_of_users_and_of_results(client: LiteLLMClient, wire: WireName) -> None:
    asked = (ToolCall("call_1", "look", "{}"), ToolCall("call_2", "look", "{}"))
    messages = (
        Message("user", (TextContent("see"), PNG)),
        Message("assistant", (), asked),
        Message("tool", (TextContent("a picture"), PNG), tool_call_id="call_1"),
        Message("tool", text("none"), tool_call_id="call_2"),
    )
    async with ScriptedProvider(lambda body: say("Nice.")) as provider:
        await client.complete(request(llm(provider, wire), *messages), Watch())
        await client.complete(request(llm(provider, wire, vision=False), *messages), Watch())
        assert provider.refused == []
        seeing, blind = (msgspec.json.encode(sent) for sent in provider.requests)
    assert seeing.count(b"iVBORw0KGgo") == 2
    assert b"iVBORw0KGgo" not in blind
    assert blind.count(b"cannot see") == 2


async def test_what_may_be_cached_is_marked_where_the_provider_wants_that(client: LiteLLMClient) -> None:
    asked = (ToolCall("call_1", "look", "{}"),)
    messages = (Message("user", text("a")), Message("assistant", (), asked), Message("tool", text("b"), (), "call_1"))
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        await client.complete(request(provider.anthropic_llm(), *messages), Watch())
        await client.complete(request(provider.anthropic_llm(caching_prompt=False), *messages), Watch())
        await client.complete(request(provider.llm(), *messages), Watch())
        marked, plain, other = provider.requests
    assert marked["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert msgspec.json.encode(marked).count(b"cache_control") == 2
    assert b"cache_control" in msgspec.json.encode(marked["messages"][-1])
    assert b"cache_control" not in msgspec.json.encode(plain)
    assert b"cache_control" not in msgspec.json.encode(other)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_longer_conversation_begins_with_the_shorter_one(tmp_path: Path, wire: WireName) -> None:
    """A provider's cache is of use only while nothing before it changes."""
    turns = [
        call("look", "I look.", where="/x"),
        calls(("look", {"where": "a"}), ("look", {"where": "b"})),
        finish("!"),
    ]
    async with ScriptedProvider(turns) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=llm(provider, wire, caching_prompt=False), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message([TextContent("see"), PNG])
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert provider.refused == []
        assert provider.connections <= 2, "a connection is used again"
        member = "input" if wire == "responses" else "messages"
        histories = [sent[member] for sent in provider.requests]
        heads = [{name: sent.get(name) for name in ("system", "instructions", "tools")} for sent in provider.requests]
    assert len(histories) == 3
    for shorter, longer in pairwise(histories):
        assert longer[: len(shorter)] == shorter
        assert len(longer) > len(shorter)
    assert heads[0] == heads[1] == heads[2]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_without_function_calling_works_by_its_words(tmp_path: Path, wire: WireName) -> None:
    said = "I look.\n<function=look>\n<parameter=where>\n/x\n/y\n</parameter>\n</function>"
    done = "<function=finish>\n<parameter=message>Found it.</parameter>\n</function>"
    wrong = "<function=look>\n<parameter=where>\n/z"
    turns: list[Turn] = [say(said), say(wrong), say(done)]
    async with ScriptedProvider(turns) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=llm(provider, wire, native_tool_calling=False), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message("Look for me.")
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                events = [event async for event in conversation.events()]
        assert provider.refused == []
        assert all(not sent.get("tools") for sent in provider.requests)
        assert b"<function=" in msgspec.json.encode(provider.requests[0])
        assert b"Nothing in /x" in msgspec.json.encode(provider.requests[1])
    actions = [event for event in events if isinstance(event, ActionEvent)]
    assert [(event.tool_name, event.thought) for event in actions] == [("look", "I look."), ("finish", "")]
    assert msgspec.json.decode(actions[0].arguments_json) == {"where": "/x\n/y"}
    (complaint,) = (e for e in events if isinstance(e, MessageEvent) and e.source == "environment")
    assert "<function=" in str(complaint.content)


@pytest.mark.parametrize("wire", WIRES)
async def test_what_a_model_only_thinks_of_calling_it_does_not_call(tmp_path: Path, wire: WireName) -> None:
    thinks = "<think>I could write\n<function=look>\n<parameter=where>/x</parameter>\n</function>\nbut no.</think>"
    done = f"{thinks}\n<function=finish>\n<parameter=message>Nothing.</parameter>\n</function>"
    async with ScriptedProvider([say(done)]) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=llm(provider, wire, native_tool_calling=False), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message("Look for me.")
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                events = [event async for event in conversation.events()]
    (action,) = [event for event in events if isinstance(event, ActionEvent)]
    assert (action.tool_name, action.thought) == ("finish", "")
    assert action.reasoning.startswith("I could write")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_outlives_every_fault_that_may_pass(tmp_path: Path, wire: WireName) -> None:
    faults: list[Turn] = [Fault(500), rate_limit(wire, 0.01), Cut("Half of"), call("look", where="/x"), finish("Done.")]
    async with ScriptedProvider(lambda body: faults.pop(0)) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            model = llm(provider, wire, num_retries=3, retry_min_wait=0.01, retry_max_wait=0.02)
            async with Conversation(
                Agent(llm=model, tools=()), tmp_path, tools=[look], runtime=runtime
            ) as conversation:
                await conversation.send_message("go")
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                events = [event async for event in conversation.events()]
        assert provider.refused == []
    tries = [event for event in events if isinstance(event, ModelCallRetried)]
    assert [(event.attempt, event.code) for event in tries] == [
        (1, "unavailable"),
        (2, "rate_limit"),
        (3, "unavailable"),
    ]
    assert [event.draft is not None for event in tries] == [False, False, True]
    assert [event.error for event in events if isinstance(event, ModelCalled)] == [None, None]


@pytest.mark.parametrize("wire", WIRES)
async def test_an_interrupt_closes_the_connection_at_once(tmp_path: Path, wire: WireName) -> None:
    async with ScriptedProvider([Stall("Some words")]) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            async with Conversation(
                Agent(llm=llm(provider, wire), tools=()), tmp_path, runtime=runtime
            ) as conversation:
                await conversation.send_message("go")
                async for item in conversation.run().stream():
                    if type(item).__name__ == "Delta":
                        break
                await conversation.interrupt()
                with anyio.fail_after(10):
                    while provider.active:
                        await anyio.lowlevel.checkpoint()
                events = [event async for event in conversation.events()]
        assert provider.dropped == 1
    (partial,) = (e for e in events if isinstance(e, MessageEvent) and e.partial)
    assert "Some words".startswith(str(partial.content[0].text))  # type: ignore[union-attr]


async def test_a_budget_shortens_the_answer_that_is_asked_for(tmp_path: Path) -> None:
    async with ScriptedProvider([finish("Done.")]) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=provider.llm(), tools=(), limits=Limits(max_cost=0.02))
            async with Conversation(agent, tmp_path, runtime=runtime) as conversation:
                await conversation.send_message("go")
                await conversation.run()
        (sent,) = provider.requests
    assert 1024 < sent["max_tokens"] < 0.02 / 4e-6


async def test_a_provider_is_called_no_more_than_its_limits_say(client: LiteLLMClient) -> None:
    limited = LimitedClient(RetryingClient(client), {"openai": ProviderLimits(calls=2)})
    async with ScriptedProvider(lambda body: say("Done."), pace=0.01) as provider:
        most = 0

        async def one() -> None:
            nonlocal most
            await limited.complete(request(provider.llm()), Counting())

        class Counting(Watch):
            def show(self, channel: str, piece: str) -> None:
                nonlocal most
                most = max(most, provider.active)

        await limited.prepare(provider.llm())
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one)
        assert len(provider.requests) == 10
    assert 0 < most <= 2


class Picture(Observation, frozen=True, kw_only=True):
    """An image that a tool kept beside the log."""


async def test_an_image_that_a_tool_kept_is_shown_to_the_model(tmp_path: Path) -> None:
    from agentrt.protocols import ToolContext, ToolExecutor
    from agentrt.tools import ToolType

    class Empty(msgspec.Struct, frozen=True):
        """No arguments."""

    class Camera:
        async def __call__(self, action: Any, context: ToolContext) -> Observation:
            return Observation(content=(await context.keep(b"\x89PNG\r\n", "shot.png", "image/png"),))

        async def aclose(self) -> None:
            return None

    def camera(params: Any) -> ToolExecutor:
        return Camera()

    shot = ToolType(name="shot", description="Take a picture.", action=Empty, executor=camera)
    async with ScriptedProvider([call("shot"), finish("Done.")]) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=provider.anthropic_llm(), tools=())
            async with Conversation(agent, tmp_path, tools=[shot], runtime=runtime) as conversation:
                await conversation.send_message("go")
                await conversation.run()
                events = [event async for event in conversation.events()]
        assert provider.refused == []
        assert b"iVBORw0K" in msgspec.json.encode(provider.requests[1])
    (seen,) = (e for e in events if isinstance(e, ObservationEvent) and e.tool_name == "shot")
    assert b"iVBORw0K" not in msgspec.json.encode(seen), "the log names the image only"


async def test_a_rule_that_nobody_knows_is_refused_before_anything_is_logged(tmp_path: Path) -> None:
    from agentrt.specs import RouterLLM

    async with ScriptedProvider([]) as provider:
        router = RouterLLM(llms={"a": provider.llm()}, rule="mine")
        async with Runtime(tmp_path / "s") as runtime:
            async with Conversation(Agent(llm=router, tools=()), tmp_path, runtime=runtime) as conversation:
                await conversation.send_message("go")
                before = conversation.cursor
                with pytest.raises(ConfigurationError, match="unknown router rule 'mine'"):
                    await conversation.run()
                assert conversation.cursor == before


@pytest.mark.pure
def test_a_reply_names_no_model_before_it_was_called() -> None:
    assert (ModelReply().model, ModelReply().cost) == ("", None)


@pytest.mark.parametrize("wire", WIRES)
async def test_what_is_too_long_is_condensed_and_the_run_goes_on(tmp_path: Path, wire: WireName) -> None:
    turns = [call("look", where=str(n)) for n in range(6)]
    turns[4:4] = [context_window(wire), say("## Task\nLook everywhere.")]  # type: ignore[list-item]
    script: list[Turn] = [*turns, finish("Done.")]
    async with ScriptedProvider(lambda body: script.pop(0)) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=llm(provider, wire), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message("go")
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                events = [event async for event in conversation.events()]
        assert provider.refused == []
        sizes = [len(msgspec.json.encode(sent)) for sent in provider.requests]
    kinds = [type(event).__name__ for event in events]
    place = kinds.index("CondensationRequest")
    assert kinds[place : place + 4] == ["CondensationRequest", "ModelCalled", "Condensation", "ModelCallStarted"]
    assert sizes[6] < sizes[4], "the next call is shorter than the one that was refused"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_key_ends_the_run_and_says_what_to_set(tmp_path: Path, wire: WireName) -> None:
    async with ScriptedProvider(lambda body: bad_key(wire)) as provider:
        async with Runtime(tmp_path / "s", environment={"MY_KEY": "sk-0123456789"}) as runtime:
            agent = Agent(llm=llm(provider, wire, api_key_env="MY_KEY", num_retries=3), tools=())
            async with Conversation(agent, tmp_path, runtime=runtime) as conversation:
                await conversation.send_message("go")
                state = await conversation.run()
        assert len(provider.requests) == 1
    assert (state.status, state.error and state.error.code) == (ExecutionStatus.ERROR, "authentication")
    assert state.error is not None
    assert "check MY_KEY" in state.error.detail
    for path in (tmp_path / "s").rglob("*"):
        assert not path.is_file() or b"sk-0123456789" not in path.read_bytes()
