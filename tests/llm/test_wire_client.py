"""Calls over real HTTP to providers whose answers are not as documented."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import msgspec
import pytest

from agentrt.context.messages import Message, ToolCall
from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContextWindowExceeded,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from agentrt.llm import LiteLLMClient, RetryingClient, WireClient
from agentrt.protocols import Watch
from agentrt.specs import LLM
from agentrt.specs.content import text

from .calling import request
from .replaying import JSON, STREAM, Replay, Replayed, events

pytestmark = pytest.mark.real

KEYS: dict[str, str] = {}
WIRES = ("chat", "responses", "anthropic")


def chunk(content: Any = None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}


def response(text: str) -> dict[str, Any]:
    whole = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    used = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    return whole | settings | {"usage": used, "output": [message(text)]}


def saying(wire: str, text: str) -> list[Any]:
    """The data of the events of an answer."""
    used = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    match wire:
        case "chat":
            return [chunk(text), chunk(None, "stop") | {"usage": used}, b"[DONE]"]
        case "responses":
            piece = {"item_id": "m", "output_index": 0, "content_index": 0, "delta": text, "logprobs": []}
            begun = {"type": "response.output_text.delta", "sequence_number": 1, **piece}
            return [begun, {"type": "response.completed", "sequence_number": 2, "response": response(text)}]
        case _:
            whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
            usage = {"input_tokens": 3, "output_tokens": 1}
            end = {"stop_reason": "end_turn", "stop_sequence": None}
            return [
                {"type": "message_start", "message": whole | {"stop_reason": None, "usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
                {"type": "message_stop"},
            ]


@pytest.fixture
async def wire_client() -> AsyncIterator[WireClient]:
    made = WireClient(KEYS)
    yield made
    await made.aclose()


async def refused(client: Any, answer: Replayed, wire: str = "chat", **changes: Any) -> ModelError:
    """The error that an answer is."""
    async with Replay(answer) as provider:
        with pytest.raises(ModelError) as raised:
            await client.complete(request(provider.llm(wire, **changes)), Watch())
    assert "litellm." not in str(raised.value)
    assert "Exception" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_that_fails_is_told_as_that(client: LiteLLMClient, wire: str, status: int) -> None:
    error = await refused(client, Replayed((b'{"error":{"message":"It broke."}}',), status, JSON), wire)
    assert type(error) is ModelUnavailable
    assert "It broke." in str(error)
    assert "cannot be reached" not in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_page_of_a_proxy_is_told_as_that(client: LiteLLMClient, wire: str) -> None:
    error = await refused(client, Replayed((b"<html><h1>502 Bad Gateway</h1></html>",), 502, "text/html"), wire)
    assert type(error) is ModelUnavailable
    assert "502" in str(error)
    assert "cannot be reached" not in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_key_names_the_variable_to_set(client: LiteLLMClient, wire: str) -> None:
    error = await refused(client, Replayed((b'{"error":{"message":"Wrong key."}}',), 401, JSON), wire)
    assert type(error) is AuthenticationFailed
    assert f"check {'ANTHROPIC_API_KEY' if wire == 'anthropic' else 'OPENAI_API_KEY'}" in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_address_that_refuses_is_named_at_once(client: LiteLLMClient, wire: str) -> None:
    async with Replay() as provider:
        llm = provider.llm(wire)
    with pytest.raises(ModelUnavailable, match=f"cannot be reached at {llm.base_url}: does a server run there"):
        await client.complete(request(llm), Watch())


async def test_a_local_program_that_does_not_run_is_named_by_its_address() -> None:
    async with Replay() as provider:
        url = provider.url
    mine = WireClient({"OLLAMA_API_BASE": url})
    with pytest.raises(ModelUnavailable, match=f"cannot be reached at {url}/v1: does a server run there"):
        await mine.complete(request(LLM(model="ollama/any")), Watch())
    await mine.aclose()


async def test_a_wait_beyond_the_longest_ends_the_tries_and_says_so(client: LiteLLMClient) -> None:
    answer = Replayed((b'{"error":{"message":"Slow down."}}',), 429, JSON, {"Retry-After": "900"})
    async with Replay(answer) as provider:
        with pytest.raises(RateLimited, match=r"Slow down.*asks to wait 900 s, and LLM\.retry_max_wait is 8 s"):
            await RetryingClient(client).complete(request(provider.llm(retry_max_wait=8.0)), Watch())
        assert provider.asked == 1


async def test_an_error_of_a_request_is_in_the_words_of_the_provider(client: LiteLLMClient) -> None:
    error = await refused(client, Replayed((b'{"error":{"message":"Unknown parameter."}}',), 400, JSON))
    assert type(error) is BadModelRequest
    assert str(error).endswith("(Unknown parameter.)") or "Unknown parameter." in str(error)


@pytest.mark.parametrize("kind", [JSON, STREAM, "text/plain"])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_with_http_200_is_one(wire_client: WireClient, wire: str, kind: str) -> None:
    """litellm takes it for an answer that was cut, where a stream was asked for."""
    body = b'{"error":{"message":"Out of memory.","code":500}}'
    for stream in (True, False):
        error = await refused(wire_client, Replayed((body,), 200, kind), wire, stream=stream)
        assert type(error) is ModelUnavailable
        assert "HTTP 500: Out of memory." in str(error)


async def test_an_error_whose_text_does_not_end_is_told_by_its_status(wire_client: WireClient) -> None:
    for ending in ("stall", "cut"):
        error = await refused(wire_client, Replayed((b"Bad gateway",), 502, "text/plain", ending=ending))
        assert "HTTP 502: Bad gateway" in str(error)


async def test_an_address_that_has_moved_is_told(wire_client: WireClient) -> None:
    answer = Replayed((b"<html>",), 308, "text/html", {"Location": "https://elsewhere.example/v1"})
    error = await refused(wire_client, answer)
    assert type(error) is BadModelRequest
    assert "set LLM.base_url (https://elsewhere.example/v1)" in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_inside_a_stream_is_one_of_its_kind(wire_client: WireClient, wire: str) -> None:
    said = {"message": "prompt is too long: 9 > 8", "type": "invalid_request_error"}
    error = {"type": "error", "error": said} if wire == "anthropic" else {**said, "error": said}
    answer = Replayed((events(saying(wire, "Half")[0], error),))
    assert type(await refused(wire_client, answer, wire)) is ContextWindowExceeded


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_is_known_by_what_it_is_and_not_by_its_name(wire_client: WireClient, wire: str) -> None:
    for kind in (STREAM, JSON, "text/plain", "application/octet-stream"):
        async with Replay(
            Replayed(
                (
                    b"\n",
                    b": hello\n\n",
                    events(*saying(wire, "Yes.")),
                ),
                200,
                kind,
            )
        ) as provider:
            assert (await wire_client.complete(request(provider.llm(wire)), Watch())).text == "Yes."


@pytest.mark.parametrize("stream", [True, False])
async def test_a_byte_order_mark_is_no_part_of_an_answer(wire_client: WireClient, stream: bool) -> None:
    message = {"choices": [{"index": 0, "message": {"content": "Yes."}, "finish_reason": "stop"}]}
    for body, kind in ((msgspec.json.encode(message), JSON), (events(*saying("chat", "Yes.")), STREAM)):
        for pieces in ((b"\xef\xbb\xbf" + body,), (b"\xef\xbb", b"\xbf", body)):
            async with Replay(Replayed(pieces, 200, kind)) as provider:
                asked = request(provider.llm(stream=stream))
                assert (await wire_client.complete(asked, Watch())).text == "Yes."
    error = await refused(wire_client, Replayed((b'\xef\xbb\xbf{"error":{"message":"It broke."}}',), 500, JSON))
    assert "HTTP 500: It broke." in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_piece_of_a_megabyte_is_read(client: LiteLLMClient, wire: str) -> None:
    text = "word " * 210_000
    async with Replay(Replayed((events(*saying(wire, text)),))) as provider:
        assert (await client.complete(request(provider.llm(wire)), Watch())).text == text


@pytest.mark.parametrize("wire", WIRES)
async def test_half_a_character_waits_for_the_other_half(client: LiteLLMClient, wire: str) -> None:
    stream = events(*saying(wire, "é€😀"))
    place = stream.index("😀".encode()) + 2
    async with Replay(Replayed((stream[:place], stream[place:]))) as provider:
        assert (await client.complete(request(provider.llm(wire)), Watch())).text == "é€😀"


@pytest.mark.parametrize("half", [rb"\ud83d", b"\xf0\x9f"])
@pytest.mark.parametrize("wire", WIRES)
async def test_half_a_character_alone_is_no_end_of_the_answer(wire_client: WireClient, wire: str, half: bytes) -> None:
    stream = events(*saying(wire, "Yes@")).replace(b"@", half)
    async with Replay(Replayed((stream,))) as provider:
        assert (await wire_client.complete(request(provider.llm(wire)), Watch())).text == "Yes\ufffd"


async def test_an_answer_is_there_though_the_end_of_its_stream_is_missing(wire_client: WireClient) -> None:
    sent = events(*saying("chat", "Yes.")[:-1])
    for ending in ("cut", "whole"):
        async with Replay(Replayed((sent,), ending=ending)) as provider:
            reply = await wire_client.complete(request(provider.llm()), Watch())
        assert (reply.text, reply.usage.prompt_tokens) == ("Yes.", 3)
    for quiet in ("stall", "trickle"):
        async with Replay(Replayed((sent,), ending=quiet)) as provider:
            with anyio.fail_after(20):
                assert (await wire_client.complete(request(provider.llm(timeout=0.5)), Watch())).text == "Yes."


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_was_cut_is_told_as_that(wire_client: WireClient, wire: str) -> None:
    error = await refused(wire_client, Replayed((events(*saying(wire, "Half of")[:-2]),), ending="cut"), wire)
    assert type(error) is ModelUnavailable
    assert "cut before its end" in str(error)
    assert "cannot be reached" not in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_next_call_has_the_connection_of_the_last(wire_client: WireClient, wire: str) -> None:
    async with Replay(Replayed((events(*saying(wire, "Yes.")),))) as provider:
        for _ in range(5):
            await wire_client.complete(request(provider.llm(wire)), Watch())
        assert len(provider.connections) == 1


async def test_the_end_of_a_line_is_no_part_of_a_key() -> None:
    mine = WireClient({"MY_KEY": "sk-0123456789\n"})
    async with Replay(Replayed((events(*saying("chat", "Yes.")),))) as provider:
        await mine.complete(request(provider.llm(api_key_env="MY_KEY")), Watch())
        assert provider.headers[0]["Authorization"] == "Bearer sk-0123456789"
    await mine.aclose()


@pytest.mark.parametrize("key", ["sk-0123456789\r\nX: y", "sk-0123456789é"])
async def test_a_key_that_cannot_be_sent_is_told_and_not_shown(key: str) -> None:
    mine = WireClient({"MY_KEY": key})
    async with Replay() as provider:
        with pytest.raises(BadModelRequest, match="MY_KEY") as raised:
            await mine.complete(request(provider.llm(api_key_env="MY_KEY")), Watch())
        assert provider.asked == 0
    await mine.aclose()
    assert "0123456789" not in str(raised.value)


@pytest.mark.parametrize(
    ("header", "value", "says"),
    [
        ("X-Title", "Café", "'x-title' cannot be sent: its value in extra_headers has characters"),
        ("X Title", "a", "'x title' cannot be sent: leave it out"),
        ("X-Tïtle", "a", "'x-tïtle' cannot be sent: leave it out"),
        ("Content-Length", "3", "'content-length' cannot be sent: leave it out"),
    ],
)
async def test_a_header_that_cannot_be_sent_is_named(
    wire_client: WireClient, header: str, value: str, says: str
) -> None:
    async with Replay() as provider:
        with pytest.raises(BadModelRequest, match=says):
            await wire_client.complete(request(provider.llm(extra_headers={header: value})), Watch())
        assert provider.asked == 0


@pytest.mark.parametrize("model", ["anthropic/any", "gemini/any"])
async def test_arguments_that_nest_too_deep_end_no_conversation(wire_client: WireClient, model: str) -> None:
    """They were refused, and stay in the history."""
    deep = '{"a":' + "[" * 5000 + "]" * 5000 + "}"
    history = [Message("user", text("a")), Message("assistant", (), (ToolCall("c1", "look", deep),))]
    async with Replay() as provider:
        asked = request(LLM(model=model, base_url=provider.url), *history, Message("tool", text("no"), (), "c1"))
        with pytest.raises(ModelError):  # of an answer that is empty
            await wire_client.complete(asked, Watch())
        assert provider.asked == 1


async def test_a_key_is_that_of_now() -> None:
    keys = {"MY_KEY": "sk-first"}
    mine = WireClient(keys)
    async with Replay(Replayed((events(*saying("chat", "Yes.")),))) as provider:
        llm = provider.llm(api_key_env="MY_KEY")
        await mine.complete(request(llm), Watch())
        keys["MY_KEY"] = "sk-second"
        await mine.complete(request(llm), Watch())
        assert [sent["Authorization"] for sent in provider.headers] == ["Bearer sk-first", "Bearer sk-second"]
    await mine.aclose()
