"""Gemini's own interface: what is sent, and what comes back."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import Agent, Conversation, ExecutionStatus, Runtime, tool
from agentrt.context.messages import Message, ToolCall
from agentrt.context.replies import ModelReply
from agentrt.errors import (
    AuthenticationFailed,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from agentrt.events import MessageEvent
from agentrt.llm import WireClient
from agentrt.llm.wires import GeminiContent, WireError
from agentrt.protocols import Watch
from agentrt.specs import ImageContent, TextContent
from agentrt.specs.content import text
from agentrt.testing import Cut, Fault, ScriptedProvider, call, calls, finish, say
from agentrt.testing.turns import Turn
from agentrt.usage import Usage

from ..calling import Shown, request
from .reading import encoded, reader, streamed

pytestmark = pytest.mark.pure

PNG = ImageContent("data:image/png;base64,iVBORw0KGgo=")
USED = Usage(prompt_tokens=100, completion_tokens=20, cache_read_tokens=60, reasoning_tokens=7)


@pytest.mark.real
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_reply_comes_whole_with_its_usage(stream: bool) -> None:
    asked = calls(("look", {"where": "/x"}), ("look", {"where": "é\n"}), thought="I look twice.")
    turn = msgspec.structs.replace(asked, usage=USED, reasoning="Hm, a little longer")
    watch, client = Shown(), WireClient({})
    async with ScriptedProvider([turn]) as provider:
        model = provider.gemini_llm(
            stream=stream, temperature=0.5, top_k=3, max_output_tokens=99, reasoning_effort="low"
        )
        reply = await client.complete(request(model), watch)
        assert provider.refused == []
        (sent,), (path,) = provider.requests, provider.paths
    await client.aclose()
    assert path.endswith(":streamGenerateContent" if stream else ":generateContent")
    assert reply.text == "I look twice."
    assert [(c.name, msgspec.json.decode(c.arguments)) for c in reply.tool_calls] == [
        ("look", {"where": "/x"}),
        ("look", {"where": "é\n"}),
    ]
    assert (reply.usage, reply.reasoning, reply.finish_reason) == (USED, "Hm, a little longer", "tool_calls")
    assert reply.cost == pytest.approx(100e-6 + 20 * 4e-6)
    assert watch.of("text") == ("I look twice." if stream else "")
    assert sent["systemInstruction"] == {"parts": [{"text": "Be short."}]}
    assert sent["generationConfig"] == {
        "temperature": 0.5,
        "topK": 3,
        "maxOutputTokens": 99,
        "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
    }
    assert sent["tools"][0]["functionDeclarations"][0]["name"] == "look"


@pytest.mark.real
async def test_a_conversation_goes_back_with_its_signatures(tmp_path: Path) -> None:
    @tool
    async def look(where: str) -> str:
        """Look somewhere."""
        return f"Nothing in {where}."

    turns: list[Turn] = [call("look", "I look.", where="/x"), calls(("look", {"where": "a"}), ("look", {"where": "b"}))]
    async with ScriptedProvider([*turns, finish("Empty.")]) as provider:
        async with Runtime(tmp_path / "s") as runtime:
            agent = Agent(llm=provider.gemini_llm(vision=True), tools=())
            async with Conversation(agent, tmp_path, tools=[look], runtime=runtime) as conversation:
                await conversation.send_message([TextContent("see"), PNG])
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
                assert conversation.state.ledger.cost > 0
                answers = [e async for e in conversation.events() if isinstance(e, MessageEvent)]
        assert provider.refused == []
        first, second, third = (sent["contents"] for sent in provider.requests)
    assert answers
    assert first[0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert second[1]["parts"][1]["thoughtSignature"]
    assert [part["functionResponse"]["name"] for part in third[4]["parts"]] == ["look", "look"]


@pytest.mark.real
async def test_calls_of_another_model_go_as_calls_that_nobody_signed() -> None:
    made = (ToolCall("c1", "look", "{}"),)
    history = (Message("user", text("a")), Message("assistant", (), made), Message("tool", text("b"), (), "c1"))
    client = WireClient({})
    async with ScriptedProvider(lambda body: say("Done.")) as provider:
        assert (await client.complete(request(provider.gemini_llm(), *history), Watch())).text == "Done."
        assert provider.refused == []
    await client.aclose()


@pytest.mark.real
@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (Fault(400, "The input token count exceeds the maximum number of tokens allowed"), ContextWindowExceeded),
        (Fault(429, "slow down", headers={"Retry-After": "7"}), RateLimited),
        (Fault(403, "API key not valid"), AuthenticationFailed),
        (Fault(503, "overloaded", after="Half of an"), ModelUnavailable),
        (Cut("Half of an"), ModelUnavailable),
        (ModelReply(text="", finish_reason="content_filter"), ContentRefused),
    ],
)
async def test_each_failure_is_an_error_of_its_kind(turn: Turn, error: type[ModelError]) -> None:
    client = WireClient({})
    async with ScriptedProvider(lambda body: turn) as provider:
        with pytest.raises(error):
            await client.complete(request(provider.gemini_llm()), Watch())
    await client.aclose()


FORM = GeminiContent()
MODEL = "gemini/any"


def said(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [*parts]}, **more}]}


def test_usage_that_is_missing_is_estimated() -> None:
    used = streamed(FORM, said({"text": "Yes, of course."}, finishReason="STOP"), model=MODEL).usage
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0


@pytest.mark.parametrize(
    ("total", "completion"), [({}, 10), ({"totalTokenCount": 30}, 10), ({"totalTokenCount": 27}, 7)]
)
def test_thoughts_are_counted_once(total: dict[str, int], completion: int) -> None:
    """Beside the candidates' tokens, or among them: then the total says so."""
    counts = {"promptTokenCount": 20, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, **total}
    end = {**said({"text": "Yes."}, finishReason="STOP"), "usageMetadata": counts}
    used = streamed(FORM, end, model=MODEL).usage
    assert (used.prompt_tokens, used.completion_tokens, used.reasoning_tokens) == (20, completion, 3)


def test_lists_that_are_null_are_empty() -> None:
    nothing = ({"candidates": None}, {"candidates": [{"content": {"parts": None}}]})
    assert streamed(FORM, *nothing, said({"text": "Yes."}, finishReason="STOP"), model=MODEL).text == "Yes."


@pytest.mark.parametrize("half", [rb"\ud83d", b"\xf0\x9f"])
def test_half_a_character_is_no_end_of_the_answer(half: bytes) -> None:
    event = msgspec.json.encode(said({"text": "Yes@"}, finishReason="STOP")).replace(b"@", half)
    assert streamed(FORM, event, model=MODEL).text == "Yes\ufffd"


MEMBERS = st.sampled_from(
    ["candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "name", "args", "id"]
    + ["finishReason", "usageMetadata", "promptTokenCount", "promptFeedback", "blockReason", "error", "responseId"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "STOP"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3), st.lists(st.dictionaries(MEMBERS, JSON, max_size=4), max_size=3))
def test_any_json_is_an_answer_or_an_error_of_a_kind(events: list[Any], parts: list[Any]) -> None:
    for stream in (events, [said(*parts, finishReason="STOP")], [b"[" * 100_000]):
        reads = reader(FORM, model=MODEL)
        with contextlib.suppress(WireError, ModelError, msgspec.DecodeError):
            for event in stream:
                reads.take(encoded(event))
            reads.reply()
