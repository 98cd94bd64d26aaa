"""Chat completions as providers really send them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ContentRefused, ModelError, ModelUnavailable
from agentrt.llm.wires import ChatCompletions, WireError
from agentrt.usage import Usage
from tests.timing import within

from ..calling import Shown
from .reading import encoded, reader, streamed, whole

pytestmark = pytest.mark.pure

FORM = ChatCompletions()
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": content, **more}}]}


def called(*pieces: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [*pieces]}}]}


def piece(arguments: Any = None, name: Any = None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {**more, "function": {key: value for key, value in function.items() if value is not None}}


def calls_of(*events: Any) -> list[tuple[str, str]]:
    reply = streamed(FORM, *events, END, b"[DONE]")
    assert all(call.id for call in reply.tool_calls), "a call without an id is given one"
    assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
    assert reply.finish_reason == ("tool_calls" if reply.tool_calls else "stop")
    return [(call.name, call.arguments) for call in reply.tool_calls]


TWO = [("look", '{"a":1}'), ("see", '{"b":2}')]

CALLS: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "as documented": (
        [
            called(piece("", "look", index=0, id="1")),
            called(piece('{"a"', index=0)),
            called(piece(":1}", index=0)),
            called(piece("", "see", index=1, id="2")),
            called(piece('{"b":2}', index=1)),
        ],
        TWO,
    ),
    "at once": ([called(piece('{"a":1}', "look", index=0, id="1"), piece('{"b":2}', "see", index=1, id="2"))], TWO),
    "interleaved": (
        [
            called(piece('{"a"', "look", index=0, id="1"), piece('{"b"', "see", index=1, id="2")),
            called(piece(":2}", index=1), piece(":1}", index=0)),
        ],
        TWO,
    ),
    "without ids": ([called(piece('{"a":1}', "look", index=0)), called(piece('{"b":2}', "see", index=1))], TWO),
    "with empty ids": (
        [called(piece('{"a":1}', "look", index=0, id="")), called(piece('{"b":2}', "see", index=1, id=""))],
        TWO,
    ),
    "under one index": (
        [called(piece('{"a":1}', "look", index=0, id="1")), called(piece('{"b":2}', "see", index=0, id="2"))],
        TWO,
    ),
    "under one index without ids": (
        [called(piece('{"a":1}', "look", index=0, id="")), called(piece('{"b":2}', "see", index=0, id=""))],
        TWO,
    ),
    "the same call twice under one index": (
        [called(piece("{}", "look", index=0)), called(piece("{}", "look", index=0))],
        [("look", "{}"), ("look", "{}")],
    ),
    "without an index": (
        [called(piece('{"a":1}', "look", id="1")), called(piece('{"b":', "see", id="2")), called(piece("2}"))],
        TWO,
    ),
    "interleaved without an index": (
        [
            called(piece('{"a"', "look", id="1")),
            called(piece('{"b"', "see", id="2")),
            called(piece(":1}", id="1")),
            called(piece(":2}", id="2")),
        ],
        TWO,
    ),
    "a new id in the middle": (
        [called(piece('{"a"', "look", index=0, id="1")), called(piece(":1}", index=0, id="9"))],
        TWO[:1],
    ),
    "a new id and the name in each piece": (
        [called(piece('{"a"', "look", index=0, id="1")), called(piece(":1}", "look", index=0, id="9"))],
        TWO[:1],
    ),
    "the name in each piece": (
        [
            called(piece("", "look", index=0, id="1")),
            called(piece('{"a":1}', "look", index=0, id="1")),
            called(piece("", "look", index=0)),
        ],
        TWO[:1],
    ),
    "the id later than the name": (
        [called(piece(None, "look", index=0)), called(piece('{"a":1}', index=0, id="1"))],
        TWO[:1],
    ),
    "arguments that are an object": ([called(piece({"a": 1}, "look", index=0, id="1"))], TWO[:1]),
    "no arguments": ([called(piece(None, "look", index=0, id="1"))], [("look", "{}")]),
    "a number for an id": ([called(piece('{"a":1}', "look", index=0, id=7))], TWO[:1]),
    "no function": ([called({"index": 0, "id": "1"})], [("", "{}")]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_read_however_they_are_sent(name: str) -> None:
    events, wanted = CALLS[name]
    assert calls_of(*events) == wanted


def test_a_call_that_was_cut_before_its_arguments_has_none() -> None:
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    (call,) = streamed(FORM, called(piece(None, "look", index=0, id="1")), end).tool_calls
    assert call.arguments == ""


NAMES = st.sampled_from(["look", "see", "write"])
OBJECTS = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6), max_size=3)


@given(st.data(), st.lists(st.tuples(NAMES, OBJECTS), max_size=4), st.booleans())
def test_any_split_of_calls_gives_the_calls(data: st.DataObject, made: list[tuple[str, Any]], indexed: bool) -> None:
    wanted = [(name, msgspec.json.encode(arguments).decode()) for name, arguments in made]
    events = []
    for place, (name, arguments) in enumerate(wanted):
        where = {"index": place} if indexed else {}
        cuts = sorted(data.draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
        parts = [arguments[start:end] for start, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        events.append(called(piece(parts[0], name, id=f"call-{place}", **where)))
        events += [called(piece(part, **where)) for part in parts[1:]]
    assert calls_of(*events) == wanted


USED = {"prompt_tokens": 10, "completion_tokens": 4}


def test_usage_is_what_was_said_last() -> None:
    first = said("Yes") | {"usage": {"prompt_tokens": 10, "completion_tokens": 1}}
    reply = streamed(FORM, first, END | {"usage": USED}, {"choices": [], "usage": USED}, b"[DONE]")
    assert reply.usage == Usage(10, 4)


@pytest.mark.parametrize(
    "none",
    [
        {},
        {"usage": None},
        {"usage": {}},
        {"usage": {"prompt_tokens": 0}},
        {"usage": {"prompt_tokens": -3, "completion_tokens": 1}},
        {"usage": {"prompt_tokens": 3.5}},
        {"usage": [3, 4]},
        {"usage": {"prompt_tokens": 3, "prompt_tokens_details": "none"}},
    ],
)
def test_usage_that_is_missing_or_cannot_be_is_estimated(none: dict[str, Any]) -> None:
    reply = streamed(FORM, said("Yes, of course."), END | none)
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0


def test_an_answer_without_its_last_line_is_whole() -> None:
    assert streamed(FORM, said("Yes."), END).text == "Yes."


def test_an_answer_without_a_reason_to_end_was_cut() -> None:
    with pytest.raises(ModelUnavailable, match="cut before its end"):
        streamed(FORM, said("Yes."), b"[DONE]")


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "Busy.", "type": "overloaded_error"}},
        {"error": {"message": "Busy.", "code": 529}, "choices": []},
        said("") | {"error": {"message": "Busy.", "code": 529}},
        {"choices": [{"index": 0, "delta": {}, "error": {"message": "Busy.", "code": 529}}]},
    ],
)
def test_an_error_inside_a_stream_is_one(event: dict[str, Any]) -> None:
    reads = reader(FORM)
    assert not reads.take(encoded(said("Half")))
    with pytest.raises(WireError, match=r"Busy\.") as raised:
        reads.take(encoded(event))
    assert raised.value.status == 529


@pytest.mark.parametrize("answer", [{"error": {"message": "Busy."}}, {"choices": [{"error": {"message": "Busy."}}]}])
def test_an_answer_that_is_an_error_is_one(answer: dict[str, Any]) -> None:
    with pytest.raises(WireError, match=r"Busy\."):
        whole(FORM, answer)


def test_an_answer_that_ends_in_an_error_is_no_answer() -> None:
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}
    with pytest.raises(ModelUnavailable):
        streamed(FORM, said("Half"), end)


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_what_was_held_back_is_a_refusal(reason: str) -> None:
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    with pytest.raises(ContentRefused):
        streamed(FORM, said(""), end)
    assert streamed(FORM, said("So far"), end).text == "So far"
    with pytest.raises(ContentRefused, match="I will not"):
        streamed(FORM, said(None, refusal="I will not"), END)


def test_a_stream_that_ends_in_the_whole_says_it_once() -> None:
    end = {"choices": [{"index": 0, "message": {"content": "Hello you."}, "finish_reason": "stop"}]}
    assert streamed(FORM, said("Hello "), said("you."), end).text == "Hello you."
    assert streamed(FORM, end).text == "Hello you."


def test_long_arguments_whose_name_comes_with_each_piece_take_time_in_proportion() -> None:
    text = msgspec.json.encode({"a": "word " * 40_000}).decode()
    pieces = [text[at : at + 8] for at in range(0, len(text), 8)]
    made = [called(piece(one, "look", id=f"call-{number}")) for number, one in enumerate(pieces)]
    assert within(2.0, lambda: streamed(FORM, *made, END))
    assert calls_of(*made, END) == [("look", text)]


def test_of_several_answers_the_first_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "No."}, "finish_reason": None}]}
    assert streamed(FORM, said("Yes."), other, END).text == "Yes."


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_under_both_names(member: str) -> None:
    reply = streamed(FORM, said(None, **{member: "I think."}), said("Yes."), END)
    assert (reply.reasoning, reply.text) == ("I think.", "Yes.")
    assert streamed(FORM, said("Yes.", **{member: {"odd": 1}}), END).text == "Yes."


def test_content_in_parts_is_text_and_reasoning() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Yes."}]
    reply = streamed(FORM, said(parts), END)
    assert (reply.reasoning, reply.text) == ("Hm.", "Yes.")


MEMBERS = st.sampled_from(
    ["choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "index", "id", "usage"]
    + ["finish_reason", "refusal", "reasoning", "error", "prompt_tokens", "type", "text"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "stop"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4), JSON)
def test_any_json_is_an_answer_or_an_error_of_a_kind(events: list[Any], answer: Any) -> None:
    """Nothing that a provider sends is an error that nobody expects."""
    for stream in (events, None):
        reads = reader(FORM, Shown())
        try:
            for event in stream or ():
                reads.take(encoded(event))
            if stream is None:
                reads.whole(encoded(answer))
            reads.reply()
        except (WireError, ModelError, msgspec.DecodeError):
            pass
