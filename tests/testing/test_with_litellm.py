"""litellm reads what the scripted provider writes, and gives it back in a form that it takes."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import msgspec
import pytest

from agentrt.testing import Fault, ScriptedProvider, call, context_window, overloaded, rate_limit, say
from agentrt.usage import Usage

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": PARAMETERS}}
USER = {"role": "user", "content": "Look."}
USAGE = Usage(100, 50, 30, 20, 10)
TURN = msgspec.structs.replace(call("look", "I look.", path="/x" * 50), reasoning="Where could it be?", usage=USAGE)
CLAUDE = "anthropic/claude-opus-4-5"


@pytest.fixture
async def litellm() -> AsyncIterator[Any]:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module: Any = import_module("litellm")
    module.suppress_debug_info = True
    module.in_memory_llm_clients_cache.flush_cache()
    yield module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await module.close_litellm_async_clients()
        await (
            module.module_level_aclient.close()
        )  # of Anthropic's streams; it makes another client when it is used again
        module.in_memory_llm_clients_cache.flush_cache()


async def complete(litellm: Any, llm: Any, messages: list[Any], *, stream: bool, **more: Any) -> Any:
    """A whole answer of litellm's chat interface."""
    settings = {"model": llm.model, "base_url": llm.base_url, "api_key": "none", "tools": [TOOL], "max_retries": 0}
    settings |= {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = await litellm.acompletion(messages=messages, **settings, **more)
    return litellm.stream_chunk_builder([chunk async for chunk in answer], messages=messages) if stream else answer


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", ["chat", "anthropic"])
async def test_an_answer(litellm: Any, wire: str, stream: bool) -> None:
    async with ScriptedProvider([TURN]) as provider:
        llm = provider.llm() if wire == "chat" else provider.anthropic_llm()
        answer = await complete(litellm, llm, [USER], stream=stream)
    message = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("I look.", "tool_calls")
    assert message.reasoning_content == "Where could it be?"
    (called,) = message.tool_calls
    assert msgspec.json.decode(called.function.arguments) == {"path": "/x" * 50}
    used = answer.usage
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (100, 50, 150)
    assert (used.prompt_tokens_details.cached_tokens, used.prompt_tokens_details.cache_write_tokens) == (30, 20)
    assert used.completion_tokens_details.reasoning_tokens == 10


async def test_thinking_goes_through_it_and_back(litellm: Any) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    async with ScriptedProvider([TURN, say("Seen.")]) as provider:
        llm = provider.anthropic_llm()
        first = await complete(litellm, llm, [USER], stream=True, thinking=thinking)
        message = first.choices[0].message.model_dump()
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Seen."}
        asked = {name: message[name] for name in ("role", "content", "tool_calls", "thinking_blocks")}
        answer = await complete(litellm, llm, [USER, asked, result], stream=False, thinking=thinking)
        assert answer.choices[0].message.content == "Seen."
        sent = provider.requests[1]
    assert sent["thinking"] == thinking
    assert sent["messages"][1]["content"][0]["thinking"] == "Where could it be?"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_response_and_the_next(litellm: Any, stream: bool) -> None:
    async def respond(given: list[Any], provider: ScriptedProvider) -> Any:
        answer = await litellm.aresponses(
            model="openai/gpt-5.5",  # one that it knows, else it does not stream
            input=given,
            api_base=provider.base_url,
            api_key="none",
            stream=stream,
            store=False,
            include=["reasoning.encrypted_content"],
            reasoning={"effort": "low", "summary": "auto"},
            max_retries=0,
        )
        return [event async for event in answer][-1].response if stream else answer

    async with ScriptedProvider([TURN, say("Seen.")]) as provider:
        first = await respond([USER], provider)
        items = [item.model_dump(exclude_none=True) for item in first.output]
        result = {"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "Seen."}
        second = await respond([USER, *items, result], provider)
        assert provider.requests[1]["input"][1]["encrypted_content"]
        assert provider.requests[0].get("stream", False) == stream
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert (first.usage.input_tokens, first.usage.output_tokens) == (100, 50)
    assert second.output[0].content[0].text == "Seen."


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (context_window, "ContextWindowExceededError"),
        (lambda wire: rate_limit(wire, 7), "RateLimitError"),
        (lambda wire: overloaded(wire, after="Half of"), "MidStreamFallbackError"),
        (lambda wire: Fault(500), "InternalServerError"),
    ],
)
async def test_it_knows_the_errors(litellm: Any, wire: Any, fault: Any, kind: str) -> None:
    async with ScriptedProvider([fault(wire)]) as provider:
        llm = provider.llm() if wire == "chat" else provider.anthropic_llm()
        with pytest.raises(Exception) as raised:
            await complete(litellm, llm, [USER], stream=True)
    assert type(raised.value).__name__ == kind
    if kind == "RateLimitError":
        assert raised.value.litellm_response_headers["retry-after"] == "7"  # type: ignore[attr-defined]
