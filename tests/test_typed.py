"""`prompt(text, output=...)` returns a value of a type, or says why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import LLM, Agent, Conversation, NoAnswer, Runtime, output_schema
from agentrt.context.replies import ModelReply
from agentrt.conversation.typed import ATTEMPTS, value_in
from agentrt.errors import ConfigurationError
from agentrt.events import MessageEvent
from agentrt.specs.content import plain
from agentrt.specs.schemas import reader_of
from agentrt.testing import ScriptedLLM, call, finish, say

pytestmark = pytest.mark.simulated

AGENT = Agent(LLM("scripted"), tools=())


@pytest.mark.pure
@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("See [the docs]: [1, 2] it is.", [1, 2]),
        ("```json\n[1, 2]\n```", [1, 2]),
        ("Input ```json\n{}\n``` and ```json\n[1, 2]\n```", [1, 2]),
    ],
)
def test_the_only_value_that_fits_is_taken(answer: str, value: list[int]) -> None:
    assert value_in(answer, reader_of(list[int])) == value


@pytest.mark.pure
@pytest.mark.parametrize("answer", ["Results [1]: [1, 2, 3]", "none", "[" * 5000, "[1"])
def test_what_is_not_clear_is_asked_for_again(answer: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        value_in(answer, reader_of(list[int]))


class Report(msgspec.Struct, frozen=True):
    title: str
    pages: int


class Book(pydantic.BaseModel):
    title: str
    pages: int = pydantic.Field(gt=0)


@dataclass
class Leaf:
    number: int


async def answer_to(directory: Path, kind: Any, *turns: ModelReply, agent: Agent = AGENT) -> tuple[Any, list[str]]:
    """The value, and what the agent was told."""
    async with (
        Runtime(directory / "store", client=ScriptedLLM(turns)) as runtime,
        Conversation(agent, directory, runtime=runtime) as conversation,
    ):
        value = await conversation.prompt("go", output=kind)
        events = [event async for event in conversation.events()]
    return value, [plain(one.content) for one in events if isinstance(one, MessageEvent) and one.source == "user"]


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        (Report, '{"title":"Herons","pages":3}', Report("Herons", 3)),
        (Report, 'Here it is:\n```json\n{"title":"Herons","pages":"3"}\n```', Report("Herons", 3)),
        (Book, 'The book {"title":"Herons","pages":3} it is.', Book(title="Herons", pages=3)),
        (Leaf, '{"number":7}', Leaf(7)),
        (list[int], "[1, 2]", [1, 2]),
        (int, "7", 7),
        (dict[str, list[Report]], '{"a":[{"title":"","pages":0}]}', {"a": [Report("", 0)]}),
        (str, '{"title":"Herons","pages":3}', '{"title":"Herons","pages":3}'),
    ],
)
async def test_a_value_of_a_type(tmp_path: Path, kind: Any, words: str, value: Any) -> None:
    found, told = await answer_to(tmp_path, kind, finish(words))
    assert found == value
    assert len(told) == 1
    assert ("schema" in told[0]) == (kind is not str)


async def test_what_does_not_fit_is_asked_for_again(tmp_path: Path) -> None:
    turns = (say("Done, as asked."), finish('{"title":"Herons","pages":0}'), finish('{"title":"Herons","pages":2}'))
    found, told = await answer_to(tmp_path, Book, *turns)
    assert found == Book(title="Herons", pages=2)
    assert "it has no JSON" in told[1]
    assert "greater than 0" in told[2]


async def test_what_never_fits_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="no answer fits the type: Expected `array`"):
        await answer_to(tmp_path, list[int], *[finish("{}")] * ATTEMPTS)


async def test_an_agent_with_an_output_gives_it_besides_words(tmp_path: Path) -> None:
    turn = call("finish", message="Here it is.", output={"title": "Herons", "pages": 3})
    found, told = await answer_to(
        tmp_path, Report, turn, agent=Agent(LLM("scripted"), tools=(), output=output_schema(Report))
    )
    assert found == Report("Herons", 3)
    assert told == ["go"]


async def test_what_is_no_type_is_refused_before_anything_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected a type"):
        await answer_to(tmp_path, {"type": "object"})
    with pytest.raises(ConfigurationError, match="no JSON schema"):
        await answer_to(tmp_path, ScriptedLLM)


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_value_is_found_in_its_json(value: Any) -> None:
    assert value_in(msgspec.json.encode(value).decode(), reader_of(Any)) == value


@given(st.text())
def test_words_without_a_bracket_have_no_object(words: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        value_in(words.replace("{", ""), reader_of(dict[str, int]))
