"""Model calls through litellm, over real HTTP to a provider whose words are scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import Agent, Conversation, ExecutionStatus, Runtime, tool
from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContentRefused,
    ContextWindowExceeded,
    MissingKey,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
    UnknownModel,
)
from agentrt.llm import LiteLLMClient, RetryingClient
from agentrt.protocols import Watch
from agentrt.specs import LLM
from agentrt.testing import Cut, Fault, ScriptedProvider, Stall, call, finish, say

from .calling import Shown, request

pytestmark = pytest.mark.real

IGNORE = Watch()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reply_comes_with_its_usage_and_cost(client: LiteLLMClient, stream: bool) -> None:
    watch = Shown()
    async with ScriptedProvider([say("A long enough answer.")]) as provider:
        reply = await client.complete(request(provider.llm(stream=stream)), watch)
    assert reply.text == "A long enough answer."
    assert watch.of("text") == ("A long enough answer." if stream else "")
    used = reply.usage
    assert used.prompt_tokens > 10
    assert used.completion_tokens > 1
    assert reply.cost == pytest.approx(used.prompt_tokens * 1e-6 + used.completion_tokens * 4e-6)


@pytest.mark.parametrize("stream", [True, False])
async def test_tool_calls_come_back_whole(client: LiteLLMClient, stream: bool) -> None:
    wanted = call("look", "I look.", path="/x" * 100, deep={"é": [1, 2.5, None]})
    async with ScriptedProvider([wanted]) as provider:
        reply = await client.complete(request(provider.llm(stream=stream)), IGNORE)
        (sent,) = provider.requests
    assert reply.text == "I look."
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        (c.id, c.name, c.arguments) for c in wanted.tool_calls
    ]
    assert sent["messages"][0] == {"role": "system", "content": "Be short."}
    assert sent["tools"][0]["function"]["name"] == "look"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(401, "bad key", "invalid_api_key"), AuthenticationFailed),
        (Fault(429, "slow down", headers={"Retry-After": "7"}), RateLimited),
        (Fault(500, "oops"), ModelUnavailable),
        (Fault(503, "busy"), ModelUnavailable),
        (Fault(400, "malformed"), BadModelRequest),
        (Fault(404, "no such model"), BadModelRequest),
        (
            Fault(400, "This model's maximum context length is 10 tokens.", "context_length_exceeded"),
            ContextWindowExceeded,
        ),
        (Fault(400, "content_policy_violation", "content_policy_violation"), ContentRefused),
        (Cut("half of an"), ModelUnavailable),
    ],
)
async def test_each_failure_is_an_error_of_its_kind(
    client: LiteLLMClient, fault: Fault | Cut, error: type[ModelError]
) -> None:
    async with ScriptedProvider([fault]) as provider:
        with pytest.raises(error) as raised:
            await client.complete(request(provider.llm()), IGNORE)
        assert len(provider.requests) == 1, "litellm's own retries are off"
    assert "\n" not in str(raised.value)
    if error is RateLimited:
        assert raised.value.retry_after == 7.0


async def test_a_provider_that_says_nothing_times_out(client: LiteLLMClient) -> None:
    async with ScriptedProvider([Stall()]) as provider:
        with pytest.raises(ModelTimeout, match=r"within 0\.3 s"):
            await client.complete(request(provider.llm(timeout=0.3, stream=False)), IGNORE)


async def test_a_provider_that_is_not_there_is_unavailable(client: LiteLLMClient) -> None:
    async with ScriptedProvider([]) as provider:
        llm = provider.llm()
    with pytest.raises(ModelUnavailable, match=r"cannot be reached at http://127\.0\.0\.1:\d+/v1: does a server run"):
        await client.complete(request(llm), IGNORE)


async def test_what_may_pass_is_tried_again(client: LiteLLMClient) -> None:
    turns: list[Any] = [Fault(503), Fault(429, headers={"Retry-After": "0.01"}), say("Third time.")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        llm = provider.llm(num_retries=2, retry_min_wait=0.01, retry_max_wait=0.05)
        reply = await RetryingClient(client).complete(request(llm), IGNORE)
        assert len(provider.requests) == 3
    assert reply.text == "Third time."


async def test_cancelling_closes_the_connection(client: LiteLLMClient) -> None:
    watch = Shown()
    async with ScriptedProvider([Stall("Some words")]) as provider:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.complete, request(provider.llm()), watch)
                await watch.begun.wait()
                assert provider.active == 1
                tasks.cancel_scope.cancel()
            while provider.active:
                await anyio.lowlevel.checkpoint()
        assert provider.dropped == 1


async def test_a_key_goes_into_the_call_and_nowhere_else(tmp_path: Path) -> None:
    secret = "sk-very-secret-0123456789"
    client = LiteLLMClient({"MY_KEY": secret})
    async with ScriptedProvider([finish("Done.")]) as provider:
        async with Runtime(tmp_path / "s", client=client) as runtime:
            agent = Agent(llm=provider.llm(api_key_env="MY_KEY"))
            async with Conversation(agent, tmp_path, runtime=runtime) as conversation:
                await conversation.send_message("go")
                await conversation.run()
        assert provider.keys == [f"Bearer {secret}"]
    await client.aclose()
    for path in (tmp_path / "s").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


@pytest.mark.simulated
async def test_a_model_that_cannot_work_is_refused_before_a_call() -> None:
    client = LiteLLMClient({})
    with pytest.raises(UnknownModel, match="name its provider"):
        await client.prepare(LLM(model="no-such-model"))
    with pytest.raises(MissingKey, match="set OPENAI_API_KEY"):
        await client.prepare(LLM(model="openai/gpt-4o"))
    with pytest.raises(MissingKey, match="set MY_KEY"):
        await client.prepare(LLM(model="openai/gpt-4o", api_key_env="MY_KEY"))
    await LiteLLMClient({"OPENAI_API_KEY": "k"}).prepare(LLM(model="openai/gpt-4o"))


async def test_closing_one_client_leaves_the_others_working() -> None:
    """litellm's connections belong to the process: a later client, and one in the middle of a call, must not notice."""
    watch = Shown()
    turns: list[Any] = [say("One."), Stall("Two.", 0.5), say("Three.")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        first, second, third = LiteLLMClient({}), LiteLLMClient({}), LiteLLMClient({})
        assert (await first.complete(request(provider.llm()), IGNORE)).text == "One."
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_close_when, watch.begun, first)
            reply = await second.complete(request(provider.llm()), watch)
        assert reply.text == "Two."
        await second.aclose()
        assert (await third.complete(request(provider.llm()), IGNORE)).text == "Three."
        await third.aclose()


async def _close_when(held: anyio.Event, client: LiteLLMClient) -> None:
    await held.wait()
    await client.aclose()


async def test_an_unknown_price_is_unknown_and_not_nothing(client: LiteLLMClient) -> None:
    async with ScriptedProvider([say("Hi.")]) as provider:
        llm = provider.llm(input_cost_per_token=None, output_cost_per_token=None)
        reply = await client.complete(request(llm), IGNORE)
    assert reply.cost is None
    assert reply.usage.prompt_tokens > 0


async def test_a_whole_conversation_over_http(tmp_path: Path) -> None:
    @tool
    async def look(where: str) -> str:
        """Look somewhere."""
        return f"Nothing in {where}."

    client = LiteLLMClient({})
    async with ScriptedProvider([call("look", where="the box"), finish("Empty.")]) as provider:
        async with Runtime(tmp_path / "s", client=client) as runtime:
            agent = Agent(llm=provider.llm(), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message("Look.")
                state = await conversation.run()
        wire = provider.requests[1]["messages"]
    await client.aclose()
    assert state.status is ExecutionStatus.FINISHED
    assert state.ledger.cost > 0
    assert wire[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"where":"the box"}'}
    assert wire[3] == {"role": "tool", "content": "Nothing in the box.", "tool_call_id": wire[2]["tool_calls"][0]["id"]}
