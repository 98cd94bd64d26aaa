"""The settings of a call: each arrives, or is refused, or stays away for a reason."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest

from agentrt.context import prompted
from agentrt.context.messages import Message, ToolCall
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError
from agentrt.llm import LiteLLMClient, RoutedClient
from agentrt.llm.thinking_room import ROOM_FOR_EFFORT
from agentrt.llm.wires.format import cache_key
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import Capabilities, FallbackLLM, ImageContent, TextContent, Thinking
from agentrt.specs.content import text
from agentrt.testing import Fault, ScriptedProvider, WireName, call, finish, say
from agentrt.testing.turns import Turn

from .calling import WIRES, llm, request

pytestmark = pytest.mark.real

KEYS = {"OPENAI_API_KEY": "k"}


def answered(reply: ModelReply) -> tuple[Message, ...]:
    """A reply that calls, and the results, as messages."""
    said = Message("assistant", text(reply.text), reply.tool_calls, None, reply.reasoning, reply.thinking)
    return (said, *(Message("tool", text("ok"), tool_call_id=made.id) for made in reply.tool_calls))


async def test_a_fallback_does_not_think_about_calls_that_were_not_thought_of(client: LiteLLMClient) -> None:
    """Claude wants to see what it thought before the last calls, and another model made them."""
    ways: dict[str, list[Turn]] = {
        "chat": [call("look"), Fault(500)],
        "anthropic": [call("look", "Mine."), finish("Done.")],
    }

    def script(body: dict[str, Any]) -> Turn:
        claude = body["model"].startswith("claude")
        turn = ways["anthropic" if claude else "chat"].pop(0)
        thought = isinstance(turn, ModelReply) and "thinking" in body
        return msgspec.structs.replace(turn, reasoning="Hm") if thought else turn

    async with ScriptedProvider(script) as provider:
        routed = RoutedClient(client)
        settings = {"thinking_budget": 2048, "temperature": 0.5}
        both = FallbackLLM((provider.llm(), provider.anthropic_llm(**settings)))
        history: tuple[Message, ...] = (Message("user", text("go")),)
        for _ in range(2):
            history += answered(await routed.complete(request(both, *history), Watch()))
        ways["anthropic"].insert(0, call("look", "Again."))
        later = (*history, Message("assistant", text("Done.")), Message("user", text("once more")))
        reply = await client.complete(request(both.llms[1], *later), Watch())
        await client.complete(request(both.llms[1], *later, *answered(reply)), Watch())
        assert provider.refused == []
        unthought, after, again = provider.requests[2:]
    assert ("thinking" in unthought, unthought["temperature"]) == (False, 0.5)
    assert after["thinking"] == again["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert again["messages"][-2]["content"][0]["thinking"] == "Hm"


@pytest.mark.parametrize("effort", ROOM_FOR_EFFORT)
async def test_an_effort_leaves_as_much_room_for_the_answer(client: LiteLLMClient, effort: Any) -> None:
    room = ROOM_FOR_EFFORT[effort]
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        for most in (room - 1, room):
            model = provider.anthropic_llm(reasoning_effort=effort, max_output_tokens=most)
            await client.complete(request(model), Watch())
        less, enough = provider.requests
    assert provider.refused == []
    assert "thinking" not in less
    assert 2 * enough["thinking"]["budget_tokens"] <= enough["max_tokens"] == room


async def test_no_effort_changes_nothing_else(client: LiteLLMClient) -> None:
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        given: dict[str, Any] = {"temperature": 0.5}
        await client.complete(request(provider.anthropic_llm(**given)), Watch())
        await client.complete(request(provider.anthropic_llm(**given, reasoning_effort="none")), Watch())
        plain, none = provider.requests
    assert plain == none


async def test_only_a_model_that_reasons_is_asked_for_its_reasoning(client: LiteLLMClient) -> None:
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        for model in ("openai/gpt-4o", "openai/gpt-5.5", "openai/unheard-of"):
            await client.complete(request(provider.responses_llm(model=model)), Watch())
        await client.complete(request(provider.responses_llm(reasoning_effort="low")), Watch())
        await client.complete(
            request(provider.responses_llm(reasoning_effort="low", encrypted_reasoning=False)), Watch()
        )
        asked = ["include" in sent for sent in provider.requests]
    assert asked == [False, True, False, True, False]


@pytest.mark.parametrize("wire", WIRES)
async def test_more_headers_and_members_arrive(client: LiteLLMClient, wire: WireName) -> None:
    members = {"shelf": {"a": [1]}, "service_tier": "flex"}
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        model = llm(
            provider, wire, extra_body=members, extra_headers={"Authorization": "Bearer mine", "x-api-key": "mine"}
        )
        await client.complete(request(model), Watch())
        (sent,), (key,) = provider.requests, provider.keys
    assert {name: sent.get(name) for name in members} == members
    assert "extra_body" not in sent
    assert key == "Bearer mine"


@pytest.mark.parametrize("setting", ["top_k", "seed"])
async def test_what_responses_do_not_have_is_refused_before_a_call(client: LiteLLMClient, setting: str) -> None:
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        with pytest.raises(ConfigurationError, match=f"{setting} cannot be sent through OpenAI's Responses"):
            await client.prepare(FallbackLLM((provider.llm(), provider.responses_llm(**{setting: 3}))))
        await client.prepare(provider.llm(**{setting: 3}))
        await client.complete(request(provider.llm(**{setting: 3})), Watch())
        assert provider.requests[0][setting] == 3


@pytest.mark.pure
def test_a_long_name_of_a_conversation_is_a_digest_where_it_goes_to_the_provider() -> None:
    assert cache_key("c" * 64) == "c" * 64
    assert len(cache_key("c" * 65)) == 32
    assert cache_key("c" * 65) != cache_key("c" * 66)


class Begun(Watch):
    """Keeps what was to be sent."""

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        self.request = request
        return None


async def test_what_is_reckoned_with_is_what_is_sent(client: LiteLLMClient) -> None:
    """Tools that are described are a part of the prompt."""
    watch = Begun()
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        asked = request(provider.llm(native_tool_calling=False))
        await client.complete(asked, watch)
    assert watch.request.messages == prompted.prompted(asked.messages, asked.tools)
    assert watch.request.tools == ()


async def test_thinking_of_one_interface_stays_on_it(client: LiteLLMClient) -> None:
    """A server may have a model under one name on several."""
    items = b'[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"},{"type":"message"}]'
    blocks = b'[{"type":"thinking","thinking":"xyz","signature":"s"}]'
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        for wire, thinking in (("anthropic", items), ("chat", items), ("responses", blocks)):
            model = llm(provider, wire)  # type: ignore[arg-type]
            said = Message("assistant", text("I thought."), thinking=Thinking(model.model, msgspec.Raw(thinking)))
            await client.complete(request(model, Message("user", text("a")), said, Message("user", text("b"))), Watch())
        sent = msgspec.json.encode(provider.requests)
    assert b"rs_1" not in sent
    assert b"xyz" not in sent


PNG = ImageContent("data:image/png;base64,iVBORw0KGgo=")


@pytest.mark.parametrize(
    ("model", "role"),
    [
        ("openai/scripted", "system"),
        ("openai/gpt-4o", "system"),
        ("openai/gpt-5.5", "system"),
        ("openai/o3", "user"),  # that is litellm's doing
    ],
)
async def test_the_messages_are_the_same_by_the_sdk_and_past_it(client: LiteLLMClient, model: str, role: str) -> None:
    calls = (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", '{"a": "é"}'))
    messages = (
        Message("user", (TextContent("see"), PNG)),
        Message("assistant", (), calls),
        Message("tool", (TextContent("a picture"), PNG), tool_call_id="c1"),
        Message("tool", text("none"), tool_call_id="c2"),
    )
    async with ScriptedProvider(lambda body: say("Nice.")) as provider:
        await client.complete(request(provider.llm(model=model, api="chat"), *messages), Watch())
        assert provider.refused == []
        (sent,) = provider.requests
    image = {"type": "image_url", "image_url": {"url": PNG.url, "detail": "auto"}}
    made = [{"id": c.id, "type": "function", "function": {"name": "look", "arguments": c.arguments}} for c in calls]
    assert sent["messages"] == [
        {"role": role if isinstance(client, LiteLLMClient) else "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
        {"role": "assistant", "tool_calls": made},
        {"role": "tool", "content": "a picture", "tool_call_id": "c1"},
        {"role": "tool", "content": "none", "tool_call_id": "c2"},
        {"role": "user", "content": [{"type": "text", "text": "[The image of the result above:]"}, image]},
    ]


async def test_a_long_conversation_does_not_hold_up_the_loop(client: LiteLLMClient) -> None:
    """The SDK of OpenAI would take half a second of CPU for it; a third of that is allowed for a slow machine."""
    messages = [Message("user" if n % 2 else "assistant", text(f"Message {n}.")) for n in range(1, 6000)]
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        await client.complete(request(provider.llm()), Watch())
        spent = []
        for sent in (messages, messages[:1]):
            begun = time.process_time()
            await client.complete(request(provider.llm(), *sent), Watch())
            await asyncio.sleep(0)
            spent.append(time.process_time() - begun)
    assert spent[0] < spent[1] + 0.35
