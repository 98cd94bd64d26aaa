"""Answers of providers that are not quite as their interface has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from agentrt.context.messages import Message, ToolCall
from agentrt.context.replies import ModelReply
from agentrt.errors import ContentRefused
from agentrt.llm import LiteLLMClient
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import LLM
from agentrt.specs.content import text
from agentrt.testing import ScriptedProvider, WireName
from tests import samples

# litellm writes an answer down where debugging is on, as an earlier test may have left it: pydantic warns of odd types
pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")]

CALL = {"id": 7, "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLED = {"type": "function_call", "id": "fc_1", "call_id": 7, "name": 5, "arguments": "{}"}


KEYS = {"MISTRAL_API_KEY": "none"}


@asynccontextmanager
async def answering(*answer: dict[str, Any]) -> AsyncIterator[str]:
    """The URL of a provider that gives this answer to all, or these chunks to who wants a stream."""

    async def answered(request: web.Request) -> web.StreamResponse:
        if not (await request.json()).get("stream"):
            return web.json_response(answer[0])
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        for chunk in answer:
            await stream.write(b"data: " + web.json_response(chunk).body + b"\n\n")  # type: ignore[operator]
        await stream.write(b"data: [DONE]\n\n")
        return stream

    app = web.Application()
    app.router.add_post("/{path:.*}", answered)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def request(llm: LLM, said: str = "Look.") -> ModelRequest:
    return ModelRequest(llm, (Message("user", text(said)),), (samples.definition("look"),))


def completion(content: Any, reason: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
    return {"id": 123, "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": reason, "delta": delta}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


async def test_ids_that_are_numbers_are_read_as_text(client: LiteLLMClient) -> None:
    async with answering(completion("I look.", "tool_calls", tool_calls=[CALL])) as url:
        reply = await client.complete(request(LLM(model="openai/any", base_url=url, stream=False)), Watch())
    assert (reply.response_id, reply.tool_calls) == ("123", (ToolCall("7", "look", "{}"),))
    response = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    async with answering(response | {"output": [CALLED]}) as url:
        llm = LLM(model="openai/any", base_url=url, stream=False, api="responses")
        reply = await client.complete(request(llm), Watch())
    assert reply.tool_calls == (ToolCall("7", "5", "{}"),)


async def test_content_in_parts_is_read_as_text(client: LiteLLMClient) -> None:
    """Mistral's form. litellm reads it of that provider only, and without a stream only the last part."""
    parts = [chunk({"role": "assistant", "content": [{"type": "text", "text": part}]}) for part in ("One ", "two.")]
    async with answering(*parts, chunk({}, "stop")) as url:
        reply = await client.complete(request(LLM(model="mistral/magistral-medium-latest", base_url=url)), Watch())
    assert reply.text == "One two."


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
async def test_an_answer_that_was_held_back_is_a_refusal(client: LiteLLMClient, wire: WireName, stream: bool) -> None:
    async with ScriptedProvider(lambda body: ModelReply(text="", finish_reason="content_filter")) as provider:
        make = {"chat": provider.llm, "responses": provider.responses_llm, "anthropic": provider.anthropic_llm}
        with pytest.raises(ContentRefused):
            await client.complete(request(make[wire](stream=stream)), Watch())


async def test_what_was_said_before_it_was_held_back_is_an_answer(client: LiteLLMClient) -> None:
    async with ScriptedProvider(lambda body: ModelReply(text="So far", finish_reason="content_filter")) as provider:
        reply = await client.complete(request(provider.llm()), Watch())
    assert (reply.text, reply.finish_reason) == ("So far", "content_filter")


async def test_the_tokens_of_the_messages_are_counted_where_the_provider_does_not(client: LiteLLMClient) -> None:
    async with answering(chunk({"role": "assistant", "content": "Yes."}), chunk({}, "stop")) as url:
        reply = await client.complete(request(LLM(model="openai/any", base_url=url), "word " * 500), Watch())
    assert reply.usage.prompt_tokens > 500


@pytest.mark.parametrize("own", [{}, {"id": None}, {"id": ""}], ids=["none", "null", "empty"])
async def test_a_streamed_call_without_an_id_is_given_one(client: LiteLLMClient, own: dict[str, Any]) -> None:
    """litellm drops such a call."""

    def piece(arguments: str, **more: Any) -> dict[str, Any]:
        return {"index": 0, "type": "function", "function": {"arguments": arguments, **more}, **own}

    pieces = (piece("", name="look"), piece('{"a"'), piece(":1}"))
    async with answering(*(chunk({"tool_calls": [one]}) for one in pieces), chunk({}, "tool_calls")) as url:
        reply = await client.complete(request(LLM(model="openai/any", base_url=url)), Watch())
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("look", '{"a":1}')]
    assert reply.tool_calls[0].id
