"""Chat completions, with the SDK of OpenAI and without."""

from __future__ import annotations

from typing import Any

import msgspec
import openai
import pytest

from agentrt.context.replies import ModelReply
from agentrt.testing import Broken, Fault, ScriptedProvider, call, calls, say
from agentrt.usage import Usage

from .exchange import post, stream

pytestmark = pytest.mark.real

PATH = "/v1/chat/completions"
USER = {"role": "user", "content": "Look."}
USAGE = Usage(100, 50, 30, 20, 10)


def asked(id: str = "c1", name: str = "look") -> dict[str, Any]:
    given = {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [given]}


def result(id: str = "c1", content: Any = "Seen.") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


async def test_the_sdk_reads_an_answer() -> None:
    turn = msgspec.structs.replace(call("look", "I look.", path="/x"), reasoning="Where?", usage=USAGE)
    async with ScriptedProvider([turn]) as provider:
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as client:
            answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Look."}])
    message = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("I look.", "tool_calls")
    assert message.model_dump()["reasoning_content"] == "Where?"
    assert message.tool_calls is not None
    assert message.tool_calls[0].model_dump()["function"] == {"name": "look", "arguments": '{"path":"/x"}'}
    assert answer.usage is not None
    counted = answer.usage.model_dump()
    assert (counted["prompt_tokens"], counted["completion_tokens"], counted["total_tokens"]) == (100, 50, 150)
    assert counted["prompt_tokens_details"]["cached_tokens"] == 30
    assert counted["completion_tokens_details"]["reasoning_tokens"] == 10


async def test_the_sdk_reads_a_stream() -> None:
    turn = msgspec.structs.replace(
        call("look", "I look.", path="/x" * 100), reasoning="Where could it be?", usage=USAGE
    )
    said = {"content": "", "reasoning_content": "", "arguments": ""}
    used, reasons = [], []
    async with ScriptedProvider([turn]) as provider:
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as client:
            async for chunk in await client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "Look."}],
                stream=True,
                stream_options={"include_usage": True},
            ):
                used += [chunk.usage.prompt_tokens] if chunk.usage else []
                for choice in chunk.choices:
                    delta = choice.delta.model_dump()
                    reasons += [choice.finish_reason] if choice.finish_reason else []
                    said["content"] += delta["content"] or ""
                    said["reasoning_content"] += delta.get("reasoning_content") or ""
                    for piece in delta["tool_calls"] or ():
                        said["arguments"] += piece["function"]["arguments"]
    assert said == {
        "content": "I look.",
        "reasoning_content": "Where could it be?",
        "arguments": turn.tool_calls[0].arguments,
    }
    assert (used, reasons) == ([100], ["tool_calls"])


async def test_usage_is_streamed_to_those_who_ask() -> None:
    async with ScriptedProvider(lambda body: say("Hi.")) as provider:
        without = await stream(provider, PATH, {"messages": [USER]})
        asking = await stream(provider, PATH, {"messages": [USER], "stream_options": {"include_usage": True}})
    assert [data for _, data in without][-1] == "[DONE]"
    assert [bool(data.get("usage")) for _, data in without[:-1]] == [False] * (len(without) - 1)
    assert asking[-2][1]["usage"]["prompt_tokens"] > 0


async def test_an_answer_that_was_cut_by_a_limit() -> None:
    async with ScriptedProvider([ModelReply(text="Half of", finish_reason="length")]) as provider:
        _, answer = await post(provider, PATH, {"messages": [USER]})
    assert answer["choices"][0]["finish_reason"] == "length"


async def test_a_stream_that_fails_or_breaks() -> None:
    turns: list[Any] = [Fault(500, "oops", "x", after="Half of"), Broken("Half of")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        failed = await stream(provider, PATH, {"messages": [USER]})
        broken = await stream(provider, PATH, {"messages": [USER]})
    assert failed[-2][1]["choices"][0]["delta"] == {"content": "Half of"}
    assert failed[-1][1] == {"error": {"message": "oops", "type": "server_error", "param": None, "code": "x"}}
    assert isinstance(broken[-1][1], str)


IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Missing required parameter: 'messages'."),
        ({"messages": []}, "Invalid 'messages': empty array."),
        ({"messages": [USER], "stream_options": {}, "tools": []}, "Invalid 'tools': empty array."),
        ({"messages": [USER], "stream_options": {"include_usage": True}}, "The 'stream_options' parameter is only"),
        ({"messages": [USER, asked()]}, "did not have response messages: c1"),
        ({"messages": [USER, asked(), USER, result()]}, "did not have response messages: c1"),
        ({"messages": [USER, result()]}, "messages with role 'tool' must be a response to a preceeding message"),
        ({"messages": [USER, asked(), result(), result()]}, "messages with role 'tool' must be a response"),
        ({"messages": [USER, asked(), result("c2")]}, "messages with role 'tool' must be a response"),
        ({"messages": [USER, asked(), result(content=IMAGE)]}, "Image URLs are only allowed for messages with role"),
        ({"messages": [USER, {"role": "assistant", "content": None}]}, "expected a string, got null"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": []}]}, "expected a string, got null"),
        ({"messages": [USER, asked(name="no good"), result()]}, "string does not match pattern"),
        ({"messages": [USER, asked(name="x" * 65), result()]}, "string too long."),
        (
            {"messages": [USER], "tools": [{"type": "function", "function": {"name": "a b"}}]},
            "Invalid 'tools[0].function.name': string does not match pattern",
        ),
    ],
)
async def test_what_is_refused(body: dict[str, Any], said: str) -> None:
    async with ScriptedProvider(lambda body: say("Hi.")) as provider:
        status, answer = await post(provider, PATH, body)
        assert provider.refused == [answer["error"]["message"]]
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert said in answer["error"]["message"]


async def test_a_valid_history_is_taken() -> None:
    history = [USER, asked("c1"), result("c1"), asked("c2"), result("c2"), {"role": "user", "content": IMAGE}]
    async with ScriptedProvider([say("1"), say("2"), calls(("look", {}))]) as provider:
        status, answer = await post(provider, PATH, {"messages": history})
    assert (status, answer["choices"][0]["finish_reason"]) == (200, "tool_calls")
