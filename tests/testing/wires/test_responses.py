"""OpenAI's Responses, with the SDK of OpenAI and without."""

from __future__ import annotations

from typing import Any

import msgspec
import openai
import pytest

from agentrt.context.replies import ModelReply
from agentrt.specs import Thinking
from agentrt.testing import Broken, Fault, ScriptedProvider, call, calls, say
from agentrt.usage import Usage

from .exchange import kinds, post, stream

pytestmark = pytest.mark.real

PATH = "/v1/responses"
USER = {"role": "user", "content": "Look."}
USAGE = Usage(100, 50, 30, 20, 10)
TURN = msgspec.structs.replace(call("look", "I look.", path="/x" * 50), reasoning="Where could it be?", usage=USAGE)
ENCRYPTED = ["reasoning.encrypted_content"]


def asked(id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}


def result(id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": "Seen."}


async def test_the_sdk_reads_an_answer() -> None:
    async with ScriptedProvider([TURN]) as provider:
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as client:
            answer = await client.responses.create(model="m", input="Look.", include=["reasoning.encrypted_content"])
            plain = await client.responses.create(model="m", input="Look.")
    reasoning, message, called = answer.output
    assert reasoning.type == "reasoning"
    assert [part.text for part in reasoning.summary] == ["Where could it be?"]
    assert reasoning.encrypted_content
    assert message.type == "message"
    assert called.type == "function_call"
    assert (called.name, called.call_id) == ("look", TURN.tool_calls[0].id)
    assert (answer.output_text, answer.status) == ("I look.", "completed")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (100, 50, 150)
    assert answer.usage.input_tokens_details.cached_tokens == 30
    assert answer.usage.output_tokens_details.reasoning_tokens == 10
    assert plain.output[0].type == "reasoning"
    assert plain.output[0].encrypted_content is None


async def test_the_sdk_reads_a_stream() -> None:
    seen: dict[str, str] = {}
    async with ScriptedProvider([TURN]) as provider:
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as client:
            async with client.responses.stream(model="m", input="Look.") as events:
                async for event in events:
                    if event.type.endswith(".delta"):
                        seen[event.type] = seen.get(event.type, "") + getattr(event, "delta", "")
                whole = await events.get_final_response()
    assert seen == {
        "response.reasoning_summary_text.delta": "Where could it be?",
        "response.output_text.delta": "I look.",
        "response.function_call_arguments.delta": TURN.tool_calls[0].arguments,
    }
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    assert whole.usage is not None
    assert whole.usage.input_tokens == 100


async def test_the_events_of_a_stream() -> None:
    async with ScriptedProvider([TURN]) as provider:
        events = await stream(provider, PATH, {"input": "Look."})
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert kinds(events) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]


async def test_an_answer_that_was_cut_by_a_limit() -> None:
    async with ScriptedProvider([ModelReply(text="Half of", finish_reason="length")]) as provider:
        events = await stream(provider, PATH, {"input": "Look."})
    name, data = events[-1]
    assert (name, data["response"]["status"]) == ("response.incomplete", "incomplete")
    assert data["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


async def test_a_stream_that_fails_or_breaks() -> None:
    turns: list[Any] = [Fault(500, "oops", after="Half of"), Fault(429, "slow", "x", after="Half of"), Broken("Half")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        failed = await stream(provider, PATH, {"input": "Look."})
        refused = await stream(provider, PATH, {"input": "Look."})
        broken = await stream(provider, PATH, {"input": "Look."})
    assert failed[-2][1]["delta"] == "Half of"
    assert failed[-1][0] == "response.failed"
    assert failed[-1][1]["response"]["error"] == {"code": "server_error", "message": "oops"}
    assert failed[-1][1]["response"]["id"] == failed[0][1]["response"]["id"]
    assert refused[-1][0] == "error"
    assert refused[-1][1]["error"]["message"] == "slow"
    assert isinstance(broken[-1][1], str)


async def test_given_reasoning_is_served_as_it_is_and_known_again() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "of its own"}
    block = {"type": "thinking", "thinking": "?", "signature": "s"}
    thinking = Thinking("m", msgspec.Raw(msgspec.json.encode([item, block])))
    turns = [msgspec.structs.replace(call("look"), thinking=thinking), say("Seen.")]
    async with ScriptedProvider(turns) as provider:
        _, answer = await post(provider, PATH, {"input": "Look.", "store": False})
    assert answer["output"][0] == item
    history = [USER, *answer["output"], result(answer["output"][1]["call_id"])]
    async with ScriptedProvider(turns) as another:
        status, answer = await post(another, PATH, {"input": history, "store": False})
    assert (status, answer["output"][0]["content"][0]["text"]) == (200, "Seen.")


async def test_a_turn_is_a_row_of_items() -> None:
    history = [USER, asked("c1"), asked("c2"), result("c1"), result("c2")]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}
    async with ScriptedProvider([calls(("a", {}), ("b", {})), call("c"), say("Third.")]) as provider:
        _, first = await post(provider, PATH, {"input": "Look."})
        _, second = await post(provider, PATH, {"input": history})
        _, third = await post(provider, PATH, {"input": [*history, said, asked("c3"), result("c3")]})
    assert [item["name"] for item in first["output"]] == ["a", "b"]
    assert [item["name"] for item in second["output"]] == ["c"]
    assert third["output"][0]["content"][0]["text"] == "Third."


SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "forged"}
STORED = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Missing required parameter: 'input'."),
        ({"input": []}, "Invalid 'input': empty array."),
        ({"input": [USER, asked()]}, "No tool output found for function call c1."),
        ({"input": [USER, result()]}, "No tool call found for function call output with call_id c1."),
        ({"input": [USER, result(), asked()]}, "No tool call found for function call output with call_id c1."),
        ({"input": [USER, STORED]}, "of type 'reasoning' was provided without its required following item."),
        ({"input": [USER, STORED, USER]}, "of type 'reasoning' was provided without its required following item."),
        ({"input": [USER, SEALED, asked(), result()]}, "The encrypted content forg...rged could not be verified."),
        ({"input": [USER, asked(), result()], "max_output_tokens": 5}, "a value >= 16"),
        ({"input": [USER], "previous_response_id": "resp_1"}, "Previous response with id 'resp_1' not found."),
        ({"input": "Hi", "tools": [{"type": "function", "function": {}}]}, "parameter: 'tools[0].name'."),
        (
            {"input": "Hi", "tools": [{"type": "function", "name": "a b"}]},
            "Invalid 'tools[0].name': string does not match",
        ),
        ({"input": [USER, {**asked(), "name": "x" * 65}, result()]}, "Invalid 'input[1].name': string too long."),
        ({"input": [USER, {**asked(), "id": "c1"}, result()]}, "Expected an ID that begins with 'fc'."),
        (
            {"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "Hi"}]}]},
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
            "Supported values are: 'input_text', 'input_image', and 'input_file'.",
        ),
    ],
)
async def test_what_is_refused(body: dict[str, Any], said: str) -> None:
    async with ScriptedProvider(lambda body: say("Hi.")) as provider:
        status, answer = await post(provider, PATH, body)
        assert provider.refused == [answer["error"]["message"]]
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert said in answer["error"]["message"]


async def test_reasoning_must_come_back_with_what_it_led_to_and_encrypted_when_nothing_is_stored() -> None:
    turn = msgspec.structs.replace(call("look"), reasoning="Where?")
    async with ScriptedProvider([turn, say("Seen.")]) as provider:
        _, answer = await post(provider, PATH, {"input": "Look.", "include": ENCRYPTED, "store": False})
        reasoning, called = answer["output"]
        output = result(called["call_id"])
        status, without = await post(provider, PATH, {"input": [USER, called, output], "store": False})
        assert status == 400
        assert "without its required 'reasoning' item: 'rs_" in without["error"]["message"]
        del reasoning["encrypted_content"]
        status, bare = await post(provider, PATH, {"input": [USER, reasoning, called, output], "store": False})
        assert status == 404
        assert "Items are not persisted when `store` is set to false." in bare["error"]["message"]
        status, _ = await post(provider, PATH, {"input": [USER, reasoning, called, output]})
        assert status == 200
        del called["id"]
        status, _ = await post(provider, PATH, {"input": [USER, called, output], "store": False})
        assert status == 200
