"""What counts in a request, and how two of them differ."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.context.messages import Message, ToolCall
from agentrt.llm.matching import Question, difference, question
from agentrt.specs import LLM, AnyLLM, FallbackLLM, ImageContent, RouterLLM, Thinking, ToolAnnotations, ToolDefinition
from agentrt.specs.content import text

pytestmark = pytest.mark.pure

MODEL = LLM(model="openai/gpt")


def asked(*messages: Message, llm: AnyLLM = MODEL, tools: tuple[ToolDefinition, ...] = ()) -> Question:
    return question(llm, messages, tools)


def tool(name: str, description: str = "Look.", **properties: Any) -> ToolDefinition:
    parameters = msgspec.Raw(msgspec.json.encode({"type": "object", "properties": properties}))
    return ToolDefinition(name=name, description=description, parameters=parameters)


def user(said: str) -> Message:
    return Message("user", text(said))


def called(*ids: str) -> tuple[Message, ...]:
    calls = tuple(ToolCall(name, "look", '{"at": 1}') for name in ids)
    return (Message("assistant", (), calls), *(Message("tool", text("Seen."), tool_call_id=name) for name in ids))


def test_ids_of_calls_do_not_count_and_which_one_is_answered_does() -> None:
    assert asked(*called("x", "y")).key() == asked(*called("1", "2")).key()
    first, one, other = called("x", "y")
    assert asked(first, one, other).key() != asked(first, other, one).key()


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "http://127.0.0.1:1"}, {"api_key_env": "MINE"}, {"timeout": 1.0}, {"num_retries": 0},
        {"stream": False}, {"usage_id": "other"}, {"input_cost_per_token": 1.0}, {"caching_prompt": False},
    ],
)  # fmt: skip
def test_what_does_not_change_an_answer_does_not_count(change: dict[str, Any]) -> None:
    changed = replace(MODEL, **change)
    assert asked(llm=changed).key() == asked().key()
    assert asked(llm=FallbackLLM((changed,))).key() == asked(llm=FallbackLLM((MODEL,))).key()


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai/other"}, {"temperature": 0.5}, {"seed": 1}, {"reasoning_effort": "low"}, {"api": "chat"},
        {"max_output_tokens": 5}, {"extra_body": {"a": 1}}, {"native_tool_calling": False},
    ],
)  # fmt: skip
def test_what_changes_an_answer_counts(change: dict[str, Any]) -> None:
    said = difference(asked(), asked(llm=replace(MODEL, **change)))
    assert said.startswith(f"the setting {next(iter(change))}")
    assert "differs: " in said


def test_hints_of_a_tool_and_the_order_of_its_schema_do_not_count() -> None:
    one = tool("look", a={"type": "string"}, b={"type": "string"})
    other = replace(tool("look", b={"type": "string"}, a={"type": "string"}), annotations=ToolAnnotations(title="Look"))
    assert asked(tools=(one,)).key() == asked(tools=(other,)).key()


def test_a_message_that_differs_is_shown_with_its_number_and_role() -> None:
    lines = [f"line {number}" for number in range(40)]
    here = ["changed" if line == "line 20" else line for line in lines]
    recorded, now = (asked(user("Go."), *called("x")[:1], user("\n".join(said))) for said in (lines, here))
    assert difference(recorded, now) == (
        "message 3 (user) differs:\n--- recorded\n+++ now\n line 18\n line 19\n-line 20\n+changed\n line 21\n line 22"
    )


def test_a_long_line_is_shown_where_it_differs() -> None:
    recorded, now = (asked(user("x" * 3000 + word + "y" * 3000)) for word in ("this", "that"))
    *_, old, new = difference(recorded, now).splitlines()
    assert old.startswith("-…xxx")
    assert "xthis" in old
    assert "xthat" in new
    assert len(old) < 170


def test_a_call_that_differs_is_shown() -> None:
    def with_arguments(arguments: str) -> Question:
        return asked(user("Go."), Message("assistant", text("I look."), (ToolCall("id", "look", arguments),)))

    said = difference(with_arguments('{"at": 1}'), with_arguments('{"at": 2}'))
    assert said == (
        'message 2 (assistant) differs:\n--- recorded\n+++ now\n I look.\n-[call 1] look {"at": 1}\n'
        '+[call 1] look {"at": 2}'
    )


def test_one_message_more_or_less_is_said() -> None:
    short, long = asked(user("a")), asked(user("a"), user("b"))
    assert difference(short, long) == (
        "message 2 (user) was not in the recorded request, which ends before it:\n--- recorded\n+++ now\n+b"
    )
    assert difference(long, short).startswith("message 2 (user) of the recorded request is missing, where this one ")
    assert difference(asked(user("a")), asked(Message("assistant", text("a")))).startswith(
        "message 1 (user recorded, assistant now) differs"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (user("a\nb"), Message("user", text("a", "b"))),
        (user("a"), user("a\n")),
        (
            Message("assistant", (), thinking=Thinking("m", msgspec.Raw(b"[1]"))),
            Message("assistant", (), thinking=Thinking("m", msgspec.Raw(b"[2]"))),
        ),
        (Message("user", (ImageContent("data:a"),)), Message("user", (ImageContent("data:b"),))),
        (Message("assistant", text("a"), reasoning="x"), Message("assistant", text("a"), reasoning="y")),
        (user(""), Message("user", ())),
    ],
)
def test_whatever_differs_is_shown(one: Message, other: Message) -> None:
    lines = difference(asked(one), asked(other)).splitlines()
    assert lines[0].endswith("differs:")
    assert any(line[0] == "-" for line in lines[3:]) or any(line[0] == "+" for line in lines[3:])


def test_a_tool_that_differs_is_named() -> None:
    one, other = tool("look"), tool("listen")
    assert difference(asked(tools=(one,)), asked(tools=(one, other))) == (
        "the tool 'listen' is offered now and was not recorded"
    )
    assert difference(asked(tools=(one, other)), asked(tools=(one,))) == (
        "the tool 'listen' was recorded and is not offered now"
    )
    assert difference(asked(tools=(one, other)), asked(tools=(other, one))) == (
        "the tools are in another order: look, listen recorded, listen, look now"
    )
    assert difference(asked(tools=(tool("look", path={"type": "string"}),)), asked(tools=(tool("look"),))) == (
        "the tool 'look' in its parameters.properties.path.type differs: \"string\" recorded, nothing now"
    )


def test_all_kinds_of_difference_are_said_the_message_first() -> None:
    recorded = asked(user("a"), tools=(tool("look"),))
    now = asked(user("b"), tools=(tool("look", "Look well."),), llm=replace(MODEL, temperature=0.5))
    assert [line for line in difference(recorded, now).splitlines() if "differs" in line] == [
        "message 1 (user) differs:",
        'the tool \'look\' in its description differs: "Look." recorded, "Look well." now',
        "the setting temperature differs: nothing recorded, 0.5 now",
    ]


def test_settings_of_one_among_several_are_named_by_their_place() -> None:
    router = RouterLLM(llms={"primary": MODEL, "secondary": MODEL})
    changed = RouterLLM(llms={"primary": MODEL, "secondary": replace(MODEL, seed=3)})
    assert difference(asked(llm=router), asked(llm=changed)) == (
        "the setting llms.secondary.seed differs: nothing recorded, 3 now"
    )
