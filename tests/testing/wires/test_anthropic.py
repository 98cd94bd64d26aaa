"""Anthropic's messages, as they go over the wire."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentrt.context.replies import ModelReply
from agentrt.specs import Thinking
from agentrt.testing import Broken, Fault, ScriptedProvider, call, overloaded, say
from agentrt.usage import Usage

from .exchange import kinds, post, stream

pytestmark = pytest.mark.real

PATH = "/v1/messages"
USER = {"role": "user", "content": "Look."}
USAGE = Usage(100, 50, 30, 20, 10)
TURN = msgspec.structs.replace(call("look", "I look.", path="/x" * 50), reasoning="Where could it be?", usage=USAGE)
ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 2048, "messages": list(messages), **more}


def asked(id: str = "c1", **more: Any) -> dict[str, Any]:
    used = {"type": "tool_use", "id": id, "name": "look", "input": {}, **more}
    return {"role": "assistant", "content": [used]}


def result(*ids: str, before: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [*before, *({"type": "tool_result", "tool_use_id": call, "content": "Seen."} for call in ids)],
    }


def text(said: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": said, **more}]}


async def test_a_message() -> None:
    async with ScriptedProvider([TURN]) as provider:
        status, answer = await post(provider, PATH, body(USER))
    assert status == 200
    thought, said, used = answer["content"]
    assert (thought["type"], thought["thinking"], bool(thought["signature"])) == (
        "thinking",
        "Where could it be?",
        True,
    )
    assert said == {"type": "text", "text": "I look."}
    assert used == {"type": "tool_use", "id": TURN.tool_calls[0].id, "name": "look", "input": {"path": "/x" * 50}}
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"] == {
        "input_tokens": 50,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 10},
        "service_tier": "standard",
    }


async def test_the_events_of_a_stream() -> None:
    async with ScriptedProvider([TURN]) as provider:
        events = await stream(provider, PATH, body(USER))
        _, whole = await post(provider, PATH, body(USER))
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds(events) == ["message_start", "ping", *block, *block, *block, "message_delta", "message_stop"]
    made: dict[str, str] = {}
    for name, data in events:
        if name == "content_block_delta":
            ((field, value),) = [pair for pair in data["delta"].items() if pair[0] != "type"]
            made[field] = made.get(field, "") + value
    thought = whole["content"][0]
    assert made == {
        "thinking": "Where could it be?",
        "signature": thought["signature"],
        "text": "I look.",
        "partial_json": TURN.tool_calls[0].arguments,
    }
    assert events[0][1]["message"]["usage"]["output_tokens"] == 1
    assert events[-2][1]["delta"]["stop_reason"] == "tool_use"
    assert events[-2][1]["usage"]["output_tokens"] == 50


@pytest.mark.parametrize(
    ("reason", "wire"), [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")]
)
async def test_why_it_stopped(reason: str, wire: str) -> None:
    async with ScriptedProvider([ModelReply(text="Half of", finish_reason=reason)]) as provider:
        _, answer = await post(provider, PATH, body(USER))
    assert answer["stop_reason"] == wire


async def test_a_stream_that_fails_or_breaks() -> None:
    turns: list[Any] = [overloaded("anthropic", after="Half of"), Broken("Half of")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        failed = await stream(provider, PATH, body(USER))
        broken = await stream(provider, PATH, body(USER))
    assert failed[-2][1]["delta"] == {"type": "text_delta", "text": "Half of"}
    assert failed[-1][0] == "error"
    assert failed[-1][1]["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert isinstance(broken[-1][1], str)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_its_envelope_of_errors(status: int, kind: str) -> None:
    async with ScriptedProvider([Fault(status, "no")]) as provider:
        given, answer = await post(provider, PATH, body(USER))
    assert (given, answer["type"], answer["error"]) == (status, "error", {"type": kind, "message": "no"})


MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        ({"messages": [USER]}, "max_tokens: Field required"),
        ({"max_tokens": 5}, "messages: Field required"),
        (body(), "messages: at least one message is required"),
        (body(text("Hi", "assistant"), USER), 'messages: first message must use the "user" role'),
        (body(text("Hi", "system"), USER), 'messages: Unexpected role "system".'),
        (
            body(USER, {"role": "assistant", "content": []}, USER),
            "messages.1: all messages must have non-empty content",
        ),
        (body(text("")), "messages: text content blocks must be non-empty"),
        (body(USER, system=[{"type": "text", "text": ""}]), "system: text content blocks must be non-empty"),
        (body(text(" \n")), "messages: text content blocks must contain non-whitespace text"),
        (body(USER, text("Hm ", "assistant")), "final assistant content cannot end with trailing whitespace"),
        (
            body(USER, asked()),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1",
        ),
        (body(USER, asked(), USER, result("c1")), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
        (
            body(USER, asked(), result("c1", before=({"type": "text", "text": "Now:"},))),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1",
        ),
        (body(USER, result("c1")), "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1"),
        (body(USER, asked(), result("c1", "c1")), "each tool_use must have a single result."),
        (body(USER, asked(), result("c1"), asked(), result("c1")), "messages: `tool_use` ids must be unique"),
        (body(USER, asked("c 1"), result("c 1")), "String should match pattern '^[a-zA-Z0-9_-]+$'"),
        (body(USER, asked(input="{}"), result("c1")), "Input should be a valid dictionary"),
        (
            body(USER, asked(name="x" * 129), result("c1")),
            "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (body(USER, tools=[{"name": "a b"}]), "tools.0.custom.name: String should match pattern"),
        (body(USER, text("Hm", "assistant")), "The conversation must end with a user message."),
        (
            body(
                text("1", **MARK),
                text("2", **MARK),
                text("3", **MARK),
                system=text("4", **MARK)["content"],
                tools=[MARK],
            ),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (body(USER, thinking={"type": "enabled", "budget_tokens": 100}), "greater than or equal to 1024"),
        (body(USER, **ENABLED | {"max_tokens": 1024}), "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (body(USER, **ENABLED, temperature=0), "`temperature` may only be set to 1 when thinking is enabled."),
        (body(USER, **ENABLED, tool_choice={"type": "any"}), "Thinking may not be enabled when tool_choice forces"),
        (
            body(USER, asked(), result("c1"), **ENABLED),
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
    ],
)
async def test_what_is_refused(asking: dict[str, Any], said: str) -> None:
    async with ScriptedProvider(lambda body: say("Hi.")) as provider:
        status, answer = await post(provider, PATH, asking)
        assert provider.refused == [answer["error"]["message"]]
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert said in answer["error"]["message"]


async def test_thinking_must_come_back_as_it_is() -> None:
    async with ScriptedProvider([TURN, say("Seen.")]) as provider:
        _, answer = await post(provider, PATH, body(USER, **ENABLED))
        thought, said, used = answer["content"]

        async def back(*blocks: dict[str, Any], **more: Any) -> str:
            history = body(USER, {"role": "assistant", "content": list(blocks)}, result(used["id"]), **more)
            status, answer = await post(provider, PATH, history)
            return "taken" if status == 200 else answer["error"]["message"]

        assert await back(thought, said, used, **ENABLED) == "taken"
        assert await back(said, used) == "taken", "nobody thinks any more"
        assert await back(said, used, thinking={"type": "adaptive"}) == "taken"
        assert "but found `text`. When `thinking` is enabled" in await back(said, used, **ENABLED)
        forged = await back(thought | {"signature": "AAAA"}, said, used, **ENABLED)
        assert forged == "messages.1.content.0: Invalid `signature` in `thinking` block"
        assert "cannot be modified" in await back(thought | {"thinking": "Else."}, said, used, **ENABLED)
        unsigned = await back({"type": "thinking", "thinking": "Else."}, said, used, **ENABLED)
        assert unsigned == "messages.1.content.0.thinking.signature: Field required"
        marked = await back(thought | MARK, said, used, **ENABLED)
        assert marked == "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"


async def test_given_thinking_is_served_as_it_is_and_known_again() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "of its own"},
        {"type": "redacted_thinking", "data": "who knows"},
    ]
    turn = msgspec.structs.replace(call("look"), thinking=Thinking("m", msgspec.Raw(msgspec.json.encode(blocks))))
    async with ScriptedProvider([turn, say("Seen.")]) as provider:
        _, answer = await post(provider, PATH, body(USER, **ENABLED))
        events = await stream(provider, PATH, body(USER, **ENABLED))
    assert answer["content"][:2] == blocks
    assert [data["content_block"] for name, data in events if name == "content_block_start"][1] == blocks[1]
    history = [USER, {"role": "assistant", "content": answer["content"]}, result(answer["content"][2]["id"])]
    async with ScriptedProvider([turn, say("Seen.")]) as another:
        status, _ = await post(another, PATH, body(*history, **ENABLED))
        assert status == 200
    async with ScriptedProvider([say("Else."), say("Seen.")]) as stranger:
        status, _ = await post(stranger, PATH, body(*history, **ENABLED))
        assert status == 400


async def test_a_call_that_nothing_was_thought_before_needs_no_thinking() -> None:
    async with ScriptedProvider([call("look"), say("Seen.")]) as provider:
        _, answer = await post(provider, PATH, body(USER, **ENABLED))
        renamed = asked("another", name="look")
        status, _ = await post(provider, PATH, body(USER, renamed, result("another"), **ENABLED))
    assert (answer["content"][0]["type"], status) == ("tool_use", 200)
