"""OpenAI's Responses as providers really send them."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.messages import ToolCall
from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from agentrt.llm.wires import OpenAIResponses, WireError
from agentrt.usage import Usage

from .reading import encoded, reader, streamed, whole

pytestmark = pytest.mark.pure

FORM = OpenAIResponses()


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def response(*output: Any, **more: Any) -> dict[str, Any]:
    return {"id": "r", "status": "completed", "output": [*output], **more}


def ended(*output: Any, kind: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": response(*output, **more)}


def delta(piece: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": piece}


def test_the_last_event_has_the_answer() -> None:
    used = {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    reply = streamed(FORM, delta("Yes"), delta("."), ended(message("Yes."), usage=used))
    assert (reply.text, reply.response_id, reply.finish_reason) == ("Yes.", "r", "stop")
    assert reply.usage == Usage(9, 2, cache_read_tokens=4)


def test_what_the_last_event_leaves_out_was_in_those_before() -> None:
    done = {"type": "response.output_item.done", "item": message("Yes.")}
    assert streamed(FORM, delta("Yes."), done, ended()).text == "Yes."


def test_calls_without_an_id_are_given_one_and_arguments_may_be_an_object() -> None:
    call = {"type": "function_call", "name": "look", "arguments": {"a": 1}}
    reply = streamed(FORM, ended(call, call | {"call_id": ""}, call | {"call_id": 7, "arguments": None}))
    assert [(one.name, one.arguments) for one in reply.tool_calls] == [("look", '{"a":1}')] * 2 + [("look", "")]
    assert all(one.id for one in reply.tool_calls)
    assert reply.tool_calls[2] == ToolCall("7", "look", "")
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "usage", [{}, {"usage": None}, {"usage": {"input_tokens": None, "input_tokens_details": None}}]
)
def test_usage_that_is_missing_is_estimated(usage: dict[str, Any]) -> None:
    used = streamed(FORM, delta("Yes."), ended(message("Yes."), **usage)).usage
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0


def test_an_answer_without_its_end_was_cut() -> None:
    with pytest.raises(ModelUnavailable, match="cut before its end"):
        streamed(FORM, delta("Yes."))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", ModelUnavailable),
        ("rate_limit_exceeded", RateLimited),
        ("context_length_exceeded", ContextWindowExceeded),
        ("insufficient_quota", AuthenticationFailed),
        ("invalid_prompt", BadModelRequest),
        (None, ModelUnavailable),
    ],
)
def test_a_response_that_failed_is_an_error_of_its_kind(code: str | None, kind: type[ModelError]) -> None:
    failure = {"code": code, "message": "It failed."}
    with pytest.raises(ModelError, match=r"It failed\.") as raised:
        streamed(FORM, ended(kind="failed", status="failed", error=failure))
    assert type(raised.value) is kind


def test_an_error_event_has_its_code() -> None:
    with pytest.raises(WireError, match=r"Slow\.") as raised:
        reader(FORM).take(encoded({"type": "error", "code": "rate_limit_exceeded", "message": "Slow.", "param": None}))
    assert (raised.value.status, raised.value.code) == (429, "rate_limit_exceeded")


def test_an_error_in_place_of_an_event_is_one() -> None:
    with pytest.raises(WireError, match=r"Busy\."):
        reader(FORM).take(encoded({"error": {"message": "Busy."}}))
    with pytest.raises(WireError, match=r"Busy\."):
        whole(FORM, {"error": {"message": "Busy."}})


def test_what_was_held_back_is_a_refusal() -> None:
    held = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    with pytest.raises(ContentRefused):
        streamed(FORM, ended(kind="incomplete", **held))
    assert streamed(FORM, delta("So far"), ended(message("So far"), kind="incomplete", **held)).text == "So far"
    said = {"type": "message", "content": [{"type": "refusal", "refusal": "I will not"}]}
    with pytest.raises(ContentRefused, match="I will not"):
        streamed(FORM, ended(said))


def test_reasoning_goes_back_in_its_place() -> None:
    thought = {
        "type": "reasoning",
        "id": "t",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "status": "completed",
    }
    reply = whole(FORM, response(thought | {"encrypted_content": "x"}, message("Yes.")))
    assert reply.reasoning == "Hm."
    assert reply.thinking is not None
    kept = msgspec.json.decode(reply.thinking.blocks)
    assert [item["type"] for item in kept] == ["reasoning", "message"]
    assert "status" not in kept[0]


MEMBERS = st.sampled_from(
    ["type", "response", "output", "content", "item", "delta", "text", "summary", "arguments", "call_id", "name", "id"]
    + ["status", "error", "message", "code", "usage", "input_tokens", "incomplete_details", "reason", "refusal"]
)
WORDS = ["", "message", "function_call", "reasoning", "refusal", "response.completed", "failed", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3), JSON, st.lists(st.dictionaries(MEMBERS, JSON, max_size=5), max_size=3))
def test_any_json_is_an_answer_or_an_error_of_a_kind(events: list[Any], answer: Any, output: list[Any]) -> None:
    for stream in (events, [ended(*output)], [ended(*output) | {"response": answer}]):
        reads = reader(FORM)
        try:
            for event in stream:
                reads.take(encoded(event))
            reads.reply()
        except (WireError, ModelError, msgspec.DecodeError):
            pass
        with contextlib.suppress(WireError, ModelError, msgspec.DecodeError):
            whole(FORM, stream[-1]["response"] if stream is not events else answer)
