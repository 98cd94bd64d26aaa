"""Streams as the vendors document them, one event of each type, read by the vendors' own libraries and by ours."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from agentrt.context.replies import ModelReply
from agentrt.llm import WireClient
from agentrt.protocols import Watch
from tests.llm.calling import Shown, request
from tests.llm.replaying import Replay, Replayed, events, split

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")]


@pytest.fixture
async def client() -> AsyncIterator[WireClient]:
    made = WireClient({})
    yield made
    await made.aclose()


def named(*sent: dict[str, Any]) -> bytes:
    """Events with their names, as both vendors send them."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), msgspec.json.encode(one)) for one in sent)


async def ours(client: WireClient, provider: Replay, wire: str) -> ModelReply:
    """What ours reads; what it shows is what it reads."""
    shown = Shown()
    reply = await client.complete(request(provider.llm(wire)), shown)
    assert shown.of("text") == reply.text
    return reply


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    head = {"id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1694268190, "model": "gpt-4o-mini"}
    return {
        **head,
        "system_fingerprint": "fp_44709d6fcb",
        "service_tier": "default",
        "choices": [choice],
        "usage": None,
    }


def call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"index": index, **more, "function": {**name, "arguments": arguments}}


USED = {
    "prompt_tokens": 19,
    "completion_tokens": 10,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 3,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
CHAT = [
    chunk(role="assistant", content="", refusal=None),
    chunk(content="Hello"),
    chunk(content=" 😀"),
    chunk(tool_calls=[call(0, "", id="call_a", type="function", name="look")]),
    chunk(tool_calls=[call(0, '{"where":')]),
    chunk(tool_calls=[call(0, '"Paris"}')]),
    chunk(tool_calls=[call(1, "", id="call_b", type="function", name="see")]),
    chunk(tool_calls=[call(1, "{}")]),
    chunk("tool_calls"),
    {**chunk(), "choices": [], "usage": USED},
]


async def test_openai_chat_is_read_as_its_own_library_reads_it(client: WireClient) -> None:
    import openai

    stream = b"".join(b"data: %s\n\n" % msgspec.json.encode(one) for one in CHAT) + b"data: [DONE]\n\n"
    async with Replay(Replayed(split(stream, range(0, len(stream), 97)))) as provider:
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{provider.url}/v1", max_retries=0) as library:
            asked: Any = {"model": "any", "messages": [{"role": "user", "content": "Look."}]}
            async with library.chat.completions.stream(**asked) as streamed:
                async for _ in streamed:
                    pass
                theirs = await streamed.get_final_completion()
        reply = await ours(client, provider, "chat")
    said, used = theirs.choices[0].message, theirs.usage
    assert used is not None
    assert reply.text == said.content
    assert [(one.id, one.name, one.arguments) for one in reply.tool_calls] == [
        (one.id, one.function.name, one.function.arguments) for one in said.tool_calls or ()
    ]
    assert (reply.response_id, reply.finish_reason) == (theirs.id, theirs.choices[0].finish_reason)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (used.prompt_tokens, used.completion_tokens)
    assert used.prompt_tokens_details is not None
    assert used.completion_tokens_details is not None
    assert reply.usage.cache_read_tokens == used.prompt_tokens_details.cached_tokens
    assert reply.usage.reasoning_tokens == used.completion_tokens_details.reasoning_tokens


BEGIN: dict[str, Any] = {
    "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {
        "input_tokens": 25,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 11,
        "output_tokens": 1,
        "service_tier": "standard",
    },
}
BLOCKS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [
            {"type": "thinking_delta", "thinking": "Let me solve this"},
            {"type": "thinking_delta", "thinking": " step by step."},
            {"type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
        ],
    ),
    ({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}, []),
    (
        {"type": "text", "text": ""},
        [
            {"type": "text_delta", "text": "Hello"},
            {"type": "text_delta", "text": " 😀!"},
        ],
    ),
    (
        {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "look", "input": {}},
        [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in ("", '{"location":', ' "San Fra', 'ncisco"}')
        ],
    ),
]


def messages() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "message_start", "message": BEGIN}]
    for index, (block, deltas) in enumerate(BLOCKS):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found.append({"type": "ping"})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    return [*found, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 89}}, {"type": "message_stop"}]


async def test_anthropic_messages_are_read_as_its_own_library_reads_them(client: WireClient) -> None:
    import anthropic

    stream = named(*messages())
    async with Replay(Replayed(split(stream, range(0, len(stream), 97)))) as provider:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=provider.url, max_retries=0) as library:
            asked: Any = {"model": "any", "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}]}
            async with library.messages.stream(**asked) as streamed:
                async for _ in streamed:
                    pass
                theirs = await streamed.get_final_message()
        reply = await ours(client, provider, "anthropic")
    kinds = {block.type: block for block in theirs.content}
    text, thought, called = kinds["text"], kinds["thinking"], kinds["tool_use"]
    assert (text.type, thought.type, called.type) == ("text", "thinking", "tool_use")
    assert reply.text == text.text  # type: ignore[union-attr]
    assert reply.reasoning == thought.thinking  # type: ignore[union-attr]
    (one,) = reply.tool_calls
    assert (one.id, one.name) == (called.id, called.name)  # type: ignore[union-attr]
    assert msgspec.json.decode(one.arguments) == called.input  # type: ignore[union-attr]
    assert reply.thinking is not None
    assert msgspec.json.decode(reply.thinking.blocks) == [
        block.model_dump(exclude_none=True) for block in theirs.content if "thinking" in block.type
    ]
    used = theirs.usage
    read, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    assert reply.usage.prompt_tokens == used.input_tokens + read + written
    assert (reply.usage.cache_read_tokens, reply.usage.cache_write_tokens) == (read, written)
    assert reply.usage.completion_tokens == used.output_tokens
    assert (reply.response_id, reply.finish_reason) == (theirs.id, "tool_calls")


THOUGHT: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I look first."}],
    "encrypted_content": "gAAAA",
}
PART = {"type": "output_text", "text": "Hi 😀", "annotations": [], "logprobs": []}
SAID = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [PART]}
MADE = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"where":"Paris"}',
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1741290958,
    "status": "in_progress",
    "error": None,
    "incomplete_details": None,
    "instructions": "Be short.",
    "max_output_tokens": None,
    "model": "gpt-5.5",
    "output": [],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": False,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "usage": None,
    "metadata": {},
}
ENDED = RESPONSE | {
    "status": "completed",
    "output": [THOUGHT, SAID, MADE],
    "usage": {
        "input_tokens": 37,
        "output_tokens": 11,
        "output_tokens_details": {"reasoning_tokens": 4},
        "input_tokens_details": {"cached_tokens": 8},
        "total_tokens": 48,
    },
}


def responses() -> list[dict[str, Any]]:
    def of(item: str, place: int, kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "item_id": item, "output_index": place, **more}

    first, empty = {"content_index": 0}, PART | {"text": ""}
    summary = {"summary_index": 0}
    found: list[dict[str, Any]] = [
        {"type": "response.created", "response": RESPONSE},
        {"type": "response.queued", "response": RESPONSE},
        {"type": "response.in_progress", "response": RESPONSE},
        {"type": "response.output_item.added", "output_index": 0, "item": THOUGHT | {"summary": []}},
        of("rs_1", 0, "reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **summary),
        of("rs_1", 0, "reasoning_summary_text.delta", delta="I look ", **summary),
        of("rs_1", 0, "reasoning_summary_text.delta", delta="first.", **summary),
        of("rs_1", 0, "reasoning_summary_text.done", text="I look first.", **summary),
        of("rs_1", 0, "reasoning_summary_part.done", part=THOUGHT["summary"][0], **summary),
        {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
        {"type": "response.output_item.added", "output_index": 1, "item": SAID | {"content": []}},
        of("msg_1", 1, "content_part.added", part=empty, **first),
        of("msg_1", 1, "output_text.delta", delta="Hi", logprobs=[], **first),
        of("msg_1", 1, "output_text.delta", delta=" 😀", logprobs=[], **first),
        of("msg_1", 1, "output_text.done", text="Hi 😀", logprobs=[], **first),
        of("msg_1", 1, "content_part.done", part=PART, **first),
        {"type": "response.output_item.done", "output_index": 1, "item": SAID},
        {"type": "response.output_item.added", "output_index": 2, "item": MADE | {"arguments": ""}},
        of("fc_1", 2, "function_call_arguments.delta", delta='{"where":'),
        of("fc_1", 2, "function_call_arguments.delta", delta='"Paris"}'),
        of("fc_1", 2, "function_call_arguments.done", name="look", arguments=MADE["arguments"]),
        {"type": "response.output_item.done", "output_index": 2, "item": MADE},
        {"type": "response.completed", "response": ENDED},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


async def test_openai_responses_are_read_as_its_own_library_reads_them(client: WireClient) -> None:
    import openai

    stream = named(*responses())
    async with Replay(Replayed(split(stream, range(0, len(stream), 97)))) as provider:
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{provider.url}/v1", max_retries=0) as library:
            async with library.responses.stream(model="any", input="Look.") as streamed:
                shown = [event.delta async for event in streamed if event.type == "response.output_text.delta"]
                theirs = await streamed.get_final_response()
        reply = await ours(client, provider, "responses")
    (called,) = (item for item in theirs.output if item.type == "function_call")
    (thought,) = (item for item in theirs.output if item.type == "reasoning")
    assert reply.text == theirs.output_text == "".join(shown)
    assert reply.reasoning == thought.summary[0].text
    (one,) = reply.tool_calls
    assert (one.id, one.name, one.arguments) == (called.call_id, called.name, called.arguments)
    used = theirs.usage
    assert used is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (used.input_tokens, used.output_tokens)
    assert reply.usage.cache_read_tokens == used.input_tokens_details.cached_tokens
    assert reply.usage.reasoning_tokens == used.output_tokens_details.reasoning_tokens
    assert (reply.response_id, reply.finish_reason) == (theirs.id, "tool_calls")
    assert reply.thinking is not None


def part(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [*parts], "role": "model"}, "index": 0}
    ended = {} if reason is None else {"finishReason": reason}
    return {"candidates": [candidate | ended], "modelVersion": "gemini-3-pro", "responseId": "r1", **more}


COUNTED = {
    "promptTokenCount": 29,
    "candidatesTokenCount": 11,
    "thoughtsTokenCount": 5,
    "cachedContentTokenCount": 8,
    "totalTokenCount": 45,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 29}],
}
GEMINI = [
    part({"text": "I look ", "thought": True}, usageMetadata={"promptTokenCount": 29, "totalTokenCount": 29}),
    part({"text": "first.", "thought": True}),
    part({"text": "Hi"}),
    part({"text": " 😀"}),
    part({"functionCall": {"name": "look", "args": {"where": "Paris"}, "id": "a"}, "thoughtSignature": "c2lnbmVk"}),
    part({"functionCall": {"name": "see", "args": {"deep": {"é": [1, None, True]}}, "id": "b"}}),
    part({"text": ""}, reason="STOP", usageMetadata=COUNTED),
]


async def test_gemini_is_read_as_its_own_library_reads_it(client: WireClient) -> None:
    from google.genai import Client, types

    stream = events(*GEMINI)
    async with Replay(Replayed(split(stream, range(0, len(stream), 97)))) as provider:
        library = Client(api_key="none", http_options=types.HttpOptions(base_url=provider.url))
        asked = library.aio.models.generate_content_stream(model="any", contents="Look.")
        theirs = [one async for one in await asked]
        await library.aio.aclose()
        reply = await ours(client, provider, "gemini")
    parts = [one for each in theirs for one in (each.candidates or [])[0].content.parts or []]  # type: ignore[union-attr]
    assert reply.text == "".join(one.text for one in parts if one.text and not one.thought)
    assert reply.reasoning == "".join(one.text for one in parts if one.text and one.thought)
    made = [one.function_call for one in parts if one.function_call]
    assert [(one.id, one.name) for one in reply.tool_calls] == [(one.id, one.name) for one in made]
    assert [msgspec.json.decode(one.arguments) for one in reply.tool_calls] == [one.args for one in made]
    assert reply.thinking is not None
    (signed,) = msgspec.json.decode(reply.thinking.blocks)
    assert base64.b64decode(signed["signature"]) == next(
        one.thought_signature for one in parts if one.thought_signature
    )
    used = theirs[-1].usage_metadata
    assert used is not None
    assert reply.usage.prompt_tokens == used.prompt_token_count
    assert reply.usage.completion_tokens == (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
    assert (reply.usage.cache_read_tokens, reply.usage.reasoning_tokens) == (
        used.cached_content_token_count,
        used.thoughts_token_count,
    )
    assert (reply.response_id, reply.finish_reason) == (theirs[-1].response_id, "tool_calls")


async def test_a_recorded_error_is_one_for_both(client: WireClient) -> None:
    import anthropic

    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    async with Replay(Replayed((named(*messages()[:4], error),))) as provider:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=provider.url, max_retries=0) as library:
            asked: Any = {"model": "any", "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}]}
            with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
                async with library.messages.stream(**asked) as streamed:
                    async for _ in streamed:
                        pass
        with pytest.raises(Exception, match="HTTP 529: Overloaded"):
            await client.complete(request(provider.llm("anthropic")), Watch())
