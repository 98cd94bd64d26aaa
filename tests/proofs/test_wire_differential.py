"""The same streams, read directly and through litellm: the same reply, but for the differences in the table below."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentrt.errors import ModelError
from agentrt.llm import LiteLLMClient, WireClient
from agentrt.protocols import Watch
from tests.llm.calling import request
from tests.llm.replaying import Replay, Replayed, split

pytestmark = pytest.mark.long

EXAMPLES = 10_000
SECONDS = float(os.environ.get("AGENTRT_STREAM_SECONDS", "20"))
"""For each interface; more of them compare all examples."""

WORDS = st.sampled_from(["a", "Yes.", " and ", "é", "😀", "\n", '"', "\\", "  ", "1"])
TEXTS = st.lists(WORDS, max_size=4)
IDS = st.sampled_from(["call_1", "call_2", "call_3", "", None])
ARGUMENTS = st.sampled_from(['{"a":1}', "{}", '{"path":"é/😀","deep":{"b":[1,null]}}', ""])
ENDINGS = st.sampled_from(["whole"] * 8 + ["cut", "error"])
USAGES = st.sampled_from(["once"] * 6 + ["twice", "none"])


class Called(msgspec.Struct, frozen=True):
    id: str | None
    name: str
    pieces: tuple[str, ...]


class Case(msgspec.Struct, frozen=True):
    """What a provider sends, and how."""

    text: tuple[str, ...]
    reasoning: tuple[str, ...]
    calls: tuple[Called, ...]
    reason: str
    usage: str
    ending: str
    comments: bool
    line: bytes
    places: tuple[int, ...]
    shape: str
    """How calls are put: each at its index, all at one, with their id in each piece, or with a new one in the last."""
    last: bool
    """Whether the event that ends a stream is there, such as [DONE]."""

    @property
    def whole(self) -> bool:
        return self.ending == "whole"


@st.composite
def cases(draw: st.DrawFn, reasons: tuple[str, ...]) -> Case:
    calls = []
    for _ in range(draw(st.integers(0, 3))):
        arguments = draw(ARGUMENTS)
        place = draw(st.integers(0, len(arguments)))
        pieces = (arguments[:place], arguments[place:])
        calls.append(Called(draw(IDS), draw(st.sampled_from(["look", "see"])), pieces))
    return Case(
        text=tuple(draw(TEXTS)),
        reasoning=tuple(draw(TEXTS)),
        calls=tuple(calls),
        reason=draw(st.sampled_from(reasons)),
        usage=draw(USAGES),
        ending=draw(ENDINGS),
        comments=draw(st.booleans()),
        line=draw(st.sampled_from([b"\n", b"\r\n"])),
        places=tuple(draw(st.lists(st.integers(0, 5000), max_size=6))),
        shape=draw(st.sampled_from(["usual"] * 5 + ["one index", "id again", "new id"])),
        last=draw(st.sampled_from([True, True, True, False])),
    )


class Outcome(NamedTuple):
    kind: str
    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    reasoning: str = ""
    reason: str = ""
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    written: int = 0
    thought: int = 0
    cost: float | None = None


def arguments(text: str, wire: str) -> str:
    """The arguments of a call as they were sent; Gemini sends an object, whose text has no one form."""
    return msgspec.json.encode(msgspec.json.decode(text)).decode() if wire == "gemini" and text else text


async def outcome(client: Any, provider: Replay, case: Case, wire: str) -> Outcome:
    sent = {call.id for call in case.calls}
    try:
        reply = await client.complete(request(provider.llm(wire)), Watch())
    except ModelError as error:
        return Outcome(type(error).__name__)
    calls = tuple(
        (call.id if call.id in sent else "new", call.name, arguments(call.arguments, wire)) for call in reply.tool_calls
    )
    assert all(call.id for call in reply.tool_calls)
    cost = None if reply.cost is None else round(reply.cost, 9)
    used = reply.usage
    counts = used.prompt_tokens, used.completion_tokens, used.cache_read_tokens, used.cache_write_tokens
    return Outcome(
        "reply", reply.text, calls, reply.reasoning, reply.finish_reason, *counts, used.reasoning_tokens, cost
    )


def chat(case: Case) -> list[Any]:
    def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    found: list[Any] = [chunk(role="assistant", content="")]
    found += [chunk(reasoning_content=piece) for piece in case.reasoning]
    found += [chunk(content=piece) for piece in case.text]
    for index, call in enumerate(case.calls):
        own = {} if call.id is None else {"id": call.id}
        place = 0 if case.shape == "one index" else index
        first = {"index": place, "type": "function", "function": {"name": call.name, "arguments": call.pieces[0]}}
        found.append(chunk(tool_calls=[first | own]))
        again = {"id again": own, "new id": {"id": "call_new"}}.get(case.shape, {})
        rest = [{"index": place, "function": {"arguments": one}} | again for one in call.pieces[1:]]
        found += [chunk(tool_calls=[one]) for one in rest]
    used = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 27,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    if case.ending == "error":
        return [*found, {"error": {"message": "It broke.", "type": "server_error", "code": 500}}]
    if case.ending == "cut":
        return found
    found.append(chunk(case.reason) | ({"usage": used} if case.usage == "twice" else {}))
    if case.usage != "none":
        found.append({**chunk(), "choices": [], "usage": used})
    return [*found, b"[DONE]"] if case.last else found


def messages(case: Case) -> list[Any]:
    used = {"input_tokens": 10, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 4, "output_tokens": 1}
    whole: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    found: list[Any] = [{"type": "message_start", "message": whole | {"usage": used}}, {"type": "ping"}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if case.reasoning:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in case.reasoning]
        sign = {"type": "signature_delta", "signature": "s"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*pieces, sign]))
    if case.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in case.text]))
    for call in case.calls:
        start = {"type": "tool_use", "id": call.id or "call_9", "name": call.name, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.pieces)]))
    for index, (block, deltas) in enumerate(blocks):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    if case.ending == "error":
        return [*found, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    if case.ending == "cut":
        return found
    end = {"stop_reason": case.reason, "stop_sequence": None}
    found.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}})
    return [*found, {"type": "message_stop"}] if case.last else found


def responses(case: Case) -> list[Any]:
    def delta(kind: str, piece: str) -> dict[str, Any]:
        where = {"item_id": "i", "output_index": 0, "content_index": 0, "summary_index": 0, "sequence_number": 2}
        return {"type": f"response.{kind}.delta", "delta": piece, "logprobs": [], **where}

    found: list[Any] = [delta("reasoning_summary_text", piece) for piece in case.reasoning]
    found += [delta("output_text", piece) for piece in case.text]
    output: list[dict[str, Any]] = []
    if case.reasoning:
        summary = [{"type": "summary_text", "text": "".join(case.reasoning)}]
        output.append({"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "x"})
    if case.text:
        part = {"type": "output_text", "text": "".join(case.text), "annotations": []}
        output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]})
    for call in case.calls:
        made = {"type": "function_call", "id": "fc", "call_id": call.id or "call_9", "name": call.name}
        output.append({**made, "arguments": "".join(call.pieces), "status": "completed"})
    if case.ending == "error":
        return [*found, {"type": "error", "code": "server_error", "message": "It broke.", "param": None}]
    if case.ending == "cut":
        return found
    used = {"input_tokens": 20, "output_tokens": 7, "total_tokens": 27}
    details = {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 2}}
    whole: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": output}
    whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": case.reason}
    whole |= {"usage": None if case.usage == "none" else used | details}
    if case.reason == "incomplete":
        whole["incomplete_details"] = {"reason": "max_output_tokens"}
    found.append({"type": f"response.{case.reason}", "sequence_number": 9, "response": whole})
    return found


def gemini(case: Case) -> list[Any]:
    def part(one: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [one]}, "index": 0, **more}], "responseId": "r"}

    found: list[Any] = [part({"text": piece, "thought": True}) for piece in case.reasoning]
    found += [part({"text": piece}) for piece in case.text]
    for call in case.calls:
        own = {} if call.id is None else {"id": call.id}
        arguments = msgspec.json.decode("".join(call.pieces) or "{}")
        found.append(part({"functionCall": {"name": call.name, "args": arguments, **own}}))
    if case.ending == "error":
        return [*found, {"error": {"code": 500, "message": "It broke.", "status": "INTERNAL"}}]
    if case.ending == "cut":
        return found
    used = {"promptTokenCount": 20, "candidatesTokenCount": 7, "totalTokenCount": 27, "cachedContentTokenCount": 4}
    if case.reasoning:  # which are counted beside the candidates' tokens, or among them
        used |= {"thoughtsTokenCount": 3, "totalTokenCount": 27 if case.shape == "one index" else 30}
    if case.usage == "twice":
        found = [{**one, "usageMetadata": used} for one in found]
    end = part({"text": ""}, finishReason=case.reason)
    return [*found, end | ({} if case.usage == "none" else {"usageMetadata": used})]


class Interface(NamedTuple):
    events: Callable[[Case], list[Any]]
    reasons: tuple[str, ...]


INTERFACES = {
    "chat": Interface(chat, ("stop", "stop", "tool_calls", "length", "content_filter")),
    "responses": Interface(responses, ("completed", "completed", "incomplete")),
    "anthropic": Interface(messages, ("end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence")),
    "gemini": Interface(gemini, ("STOP", "STOP", "MAX_TOKENS", "SAFETY")),
}


def answer(case: Case, wire: str) -> Replayed:
    """The bytes of it."""
    sent = b""
    for event in INTERFACES[wire].events(case):
        if case.comments:
            sent += b": still here" + case.line * 2
        data = event if isinstance(event, bytes) else msgspec.json.encode(event)
        if wire in ("responses", "anthropic") and isinstance(event, dict):
            sent += b"event: " + event["type"].encode() + case.line
        sent += b"data: " + data + case.line * 2
    return Replayed(split(sent, case.places), ending="cut" if case.ending == "cut" else "whole")


class Difference(NamedTuple):
    """One that is meant: in what it is one, which cases have it, and why ours is right."""

    wire: str
    members: frozenset[str]
    met: Callable[[Case], bool]
    why: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "chat",
        frozenset({"calls", "completion", "cost"}),
        lambda case: case.shape == "one index" and len(case.calls) > 1,
        "litellm makes one call of several that come under one index, with arguments that are no JSON",
    ),
    Difference(
        "chat",
        frozenset({"calls"}),
        lambda case: case.shape == "new id" and bool(case.calls),
        "a call keeps the id with which it began; litellm takes the last, which several calls may have",
    ),
    *(
        Difference(
            wire,
            frozenset({"thought"}),
            lambda case: bool(case.reasoning),
            "litellm counts tokens of reasoning of which the provider said nothing",
        )
        for wire in ("chat", "anthropic", "gemini")
    ),
    *(
        Difference(
            wire,
            frozenset({"calls"}),
            lambda case: case.reason in ("length", "max_tokens") and any(not "".join(one.pieces) for one in case.calls),
            "litellm makes a call without arguments of one that was cut before they came, and it would be run",
        )
        for wire in ("chat", "anthropic")
    ),
    *(
        Difference(
            wire,
            frozenset({"prompt", "completion", "cost"}),
            lambda case: case.usage == "none",
            "both estimate what the provider does not say; litellm leaves out the tools that were sent",
        )
        for wire in ("chat", "responses", "gemini")
    ),
    Difference(
        "gemini",
        frozenset({"kind"}),
        lambda case: case.comments,
        "litellm takes comments of server-sent events for data, and loses the answer",
    ),
)


def excused(wire: str, case: Case, ours: Outcome, theirs: Outcome) -> list[str] | None:
    """Why they differ; None when they must not."""
    differ = {name for name in Outcome._fields if getattr(ours, name) != getattr(theirs, name)}
    if "kind" in differ:
        differ = {"kind"}
    met = [one for one in DIFFERENCES if one.wire == wire and one.members & differ and one.met(case)]
    return [one.why for one in met] if differ <= frozenset().union(*(one.members for one in met)) else None


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:.*:UserWarning")
@pytest.mark.parametrize("wire", INTERFACES)
def test_both_ways_read_the_same_reply(wire: str) -> None:
    end, compared, met = time.monotonic() + SECONDS, 0, Counter[str]()
    with asyncio.Runner() as runner:
        provider, direct, through = Replay(), WireClient({}), LiteLLMClient({})
        runner.run(provider.__aenter__())

        async def both(case: Case) -> tuple[Outcome, Outcome]:
            provider.answer = answer(case, wire)
            return await outcome(direct, provider, case, wire), await outcome(through, provider, case, wire)

        @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
        @given(cases(INTERFACES[wire].reasons))
        def compare(case: Case) -> None:
            nonlocal compared
            if time.monotonic() > end:
                return
            ours, theirs = runner.run(both(case))
            compared += 1
            if ours != theirs:
                why = excused(wire, case, ours, theirs)
                assert why is not None, f"ours: {ours}\ntheirs: {theirs}"
                met.update(why)

        try:
            compare()
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runner.run(direct.aclose())
                runner.run(through.aclose())
                runner.run(provider.__aexit__(None, None, None))
    print(f"{wire}: {compared} streams compared; differences: {dict(met)}")
    assert compared > 100
