"""Anthropic's messages as providers really send them."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.messages import ToolCall
from agentrt.errors import ContentRefused, ModelError, ModelUnavailable
from agentrt.llm.wires import AnthropicMessages, WireError
from agentrt.usage import Usage

from .reading import encoded, reader, streamed, whole

pytestmark = pytest.mark.pure

FORM = AnthropicMessages()
MODEL = "anthropic/any"
BEGIN = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 9}}}
STOP = {"type": "message_stop"}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def end(reason: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 4, **usage}}


def read(*events: Any) -> Any:
    return streamed(FORM, *events, model=MODEL)


def test_text_thinking_and_calls_are_put_together() -> None:
    reply = read(
        BEGIN,
        {"type": "ping"},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "thinking_delta", thinking="."),
        delta(0, "signature_delta", signature="si"),
        delta(0, "signature_delta", signature="gn"),
        {"type": "content_block_stop", "index": 0},
        start(1, type="redacted_thinking", data="xx"),
        start(2, type="text", text=""),
        delta(2, "text_delta", text="I look."),
        delta(2, "citations_delta", citation={}),
        start(3, type="tool_use", id="t", name="look", input={}),
        delta(3, "input_json_delta", partial_json=""),
        delta(3, "input_json_delta", partial_json='{"a"'),
        delta(3, "input_json_delta", partial_json=":1}"),
        end("tool_use"),
        STOP,
    )
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("I look.", "Hm.", "tool_calls")
    assert reply.tool_calls == (ToolCall("t", "look", '{"a":1}'),)
    assert msgspec.json.decode(reply.thinking.blocks) == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sign"},
        {"type": "redacted_thinking", "data": "xx"},
    ]
    assert reply.usage == Usage(9, 4)


@pytest.mark.parametrize("own", [{}, {"id": None}, {"id": ""}])
def test_a_call_without_an_id_is_given_one(own: dict[str, Any]) -> None:
    reply = read(BEGIN, start(0, type="tool_use", name="look", **own), end("tool_use"), STOP)
    (call,) = reply.tool_calls
    assert call.id
    assert (call.name, call.arguments) == ("look", "{}")


def test_arguments_may_come_at_once_as_an_object() -> None:
    reply = read(BEGIN, start(0, type="tool_use", id="t", name="look", input={"a": 1}), end("tool_use"), STOP)
    assert reply.tool_calls == (ToolCall("t", "look", '{"a":1}'),)


def test_a_block_may_begin_with_words() -> None:
    first = start(0, type="thinking", thinking="I ", signature="")
    thought = delta(0, "thinking_delta", thinking="think.")
    reply = read(
        BEGIN, first, thought, start(1, type="text", text="Yes"), delta(1, "text_delta", text="."), end(), STOP
    )
    assert (reply.reasoning, reply.text) == ("I think.", "Yes.")


def test_usage_is_what_was_said_last_of_each_number() -> None:
    used = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1}
    begin = {"type": "message_start", "message": {"id": "m", "content": [], "usage": used}}
    reply = read(begin, end(output_tokens=8), end(output_tokens=9, cache_read_input_tokens=None), STOP)
    assert reply.usage == Usage(10, 9, cache_read_tokens=3, cache_write_tokens=2)


def test_usage_that_is_missing_is_estimated() -> None:
    begin = {"type": "message_start", "message": {"id": "m", "content": [], "usage": None}}
    finish = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    piece = [start(0, type="text", text=""), delta(0, "text_delta", text="Yes.")]
    used = read(begin, *piece, finish, STOP).usage
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0


def test_an_answer_without_a_reason_to_end_was_cut() -> None:
    with pytest.raises(ModelUnavailable, match="cut before its end"):
        read(BEGIN, start(0, type="text", text=""), delta(0, "text_delta", text="Yes."), STOP)


def test_a_piece_without_a_beginning_is_text() -> None:
    assert read(BEGIN, delta(0, "text_delta", text="Yes."), end(), STOP).text == "Yes."


def test_members_that_are_null_are_none() -> None:
    events = [
        start(0, type="text", text=None),
        delta(0, "text_delta", text=None),
        start(1, type="thinking", thinking=None, signature=None),
        delta(1, "signature_delta", signature="s"),
        start(2, type="tool_use", id="t", name=None, input=None),
        delta(2, "input_json_delta", partial_json=None),
    ]
    reply = read(BEGIN, *events, end(), STOP)
    assert (reply.text, reply.reasoning, reply.tool_calls) == ("", "", (ToolCall("t", "", "{}"),))


def test_an_error_inside_a_stream_is_one() -> None:
    reads = reader(FORM, model=MODEL)
    reads.take(encoded(BEGIN))
    with pytest.raises(WireError, match="Overloaded") as raised:
        reads.take(encoded({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    assert raised.value.status == 529


def test_an_answer_that_is_an_error_is_one() -> None:
    with pytest.raises(WireError, match="Overloaded"):
        whole(FORM, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, model=MODEL)


def test_what_was_held_back_is_a_refusal() -> None:
    with pytest.raises(ContentRefused):
        read(BEGIN, end("refusal"), STOP)
    begun = [BEGIN, start(0, type="text", text=""), delta(0, "text_delta", text="So far")]
    assert read(*begun, end("refusal"), STOP).finish_reason == "content_filter"


MEMBERS = st.sampled_from(
    ["type", "index", "delta", "content_block", "message", "content", "usage", "text", "thinking", "signature", "id"]
    + ["partial_json", "stop_reason", "input", "name", "output_tokens", "error"]
)
KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error"]
WORDS = ["", "text", "thinking", "tool_use", "text_delta", "thinking_delta", "signature_delta", "input_json_delta"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from([*KINDS, *WORDS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)
BLOCKS = st.dictionaries(MEMBERS, JSON, max_size=4)


@given(st.lists(JSON, max_size=3), st.lists(BLOCKS, max_size=3), st.lists(BLOCKS, max_size=3), JSON)
def test_any_json_is_an_answer_or_an_error_of_a_kind(
    events: list[Any], blocks: list[Any], pieces: list[Any], answer: Any
) -> None:
    begun = [{**start(place), "content_block": block} for place, block in enumerate(blocks)]
    more = [{"type": "content_block_delta", "index": place, "delta": piece} for place, piece in enumerate(pieces)]
    for stream in (events, [BEGIN, *begun, *more, end(), STOP]):
        reads = reader(FORM, model=MODEL)
        try:
            for event in stream:
                reads.take(encoded(event))
            reads.reply()
        except (WireError, ModelError, msgspec.DecodeError):
            pass
    for one in (answer, {"content": blocks, "stop_reason": "end_turn"}):
        with contextlib.suppress(WireError, ModelError, msgspec.DecodeError):
            whole(FORM, one, model=MODEL)
