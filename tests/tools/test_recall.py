"""What an agent no longer sees, and what earlier conversations said, comes back by `recall`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentrt import Agent, Conversation, LLMSummarizingCondenser, NoOpCondenser, Runtime
from agentrt.context.replies import ModelReply
from agentrt.errors import ModelError, ModelUnavailable
from agentrt.events import Event, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.specs import LLM
from agentrt.specs.content import plain
from agentrt.storage.memory import MemoryStorage
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn
from agentrt.usage import Usage
from tests.condensing import SUMMARY, agent, is_question, look

pytestmark = pytest.mark.simulated

SPEC = Agent(llm=LLM(model="scripted"), tools=("recall",), checkpoints=False)


def recalled(events: list[Event]) -> list[str]:
    """What the calls of `recall` gave."""
    return [plain(e.content) for e in events if isinstance(e, ObservationEvent) and e.tool_name == "recall"]


async def asking(place: Path, *calls: dict[str, Any], steps: int = 14) -> list[str]:
    """What calls of `recall` give after so many places were looked at."""
    turns: list[Turn] = [
        *(call("look", where=f"src/place{at}.txt") for at in range(steps)),
        *(call("recall", **given) for given in calls),
        finish("Done."),
    ]
    left = iter(turns)

    def script(request: ModelRequest) -> Turn:
        return say(SUMMARY) if is_question(request) else next(left)

    async with Runtime(place / "s", client=ScriptedLLM(script)) as runtime:
        async with Conversation(agent(), place, tools=[look], runtime=runtime) as conversation:
            await conversation.send_message("Look at all places.")
            await conversation.run()
            return recalled([event async for event in conversation.events()])


async def test_what_left_the_view_is_found_by_its_words(tmp_path: Path) -> None:
    (found,) = await asking(tmp_path, {"query": "src/place3.txt"})
    head, *lines = found.splitlines()
    assert head == "2 events that you no longer see say 'src/place3.txt':"
    assert [line.split(":")[0].split(" ")[-1] for line in lines] == ["observation", "action"]
    assert all("src/place3.txt" in line for line in lines)


async def test_words_need_not_stand_side_by_side(tmp_path: Path) -> None:
    (found,) = await asking(tmp_path, {"query": "stones PLACE3.txt"})
    assert "src/place3.txt" in found
    assert found.startswith("1 event that you no longer see says")


async def test_an_event_is_brought_back_whole_by_its_number(tmp_path: Path) -> None:
    (line, whole) = await asking(tmp_path, {"query": "src/place3.txt"}, {"event": 24})
    assert "#24 observation" in line
    assert whole == "#24 observation:\nsrc/place3.txt: " + "nothing but sand and stones. " * 10


async def test_what_cannot_be_brought_back_is_said_so_that_it_can_go_on(tmp_path: Path) -> None:
    nothing, shown, none, empty = await asking(
        tmp_path, {"query": "penguins"}, {"query": "src/place13.txt"}, {"event": 99999}, {"query": "  "}
    )
    assert nothing == "Nothing that you no longer see says 'penguins'. Try fewer or other words."
    assert "You still see it in event" in shown
    assert "event 99999 says nothing, or there is none of that number" in none
    assert empty.endswith("give a query, or the number of an event")


async def test_the_newest_of_many_are_shown(tmp_path: Path) -> None:
    (found,) = await asking(tmp_path, {"query": "nothing but sand"}, steps=30)
    head, *lines = found.splitlines()
    assert head.endswith("the newest 10 of them first:")
    seqs = [int(line[3:].split(" ")[0]) for line in lines]
    assert seqs == sorted(seqs, reverse=True)


@pytest.mark.real
async def test_it_is_offered_where_a_view_is_condensed(tmp_path: Path) -> None:
    model = LLM(model="scripted")
    for condenser, offered in ((LLMSummarizingCondenser(), True), (NoOpCondenser(), False)):
        client = ScriptedLLM([say("hi")])
        async with Runtime(MemoryStorage(), client=client) as runtime:
            async with Conversation(Agent(llm=model, condenser=condenser), tmp_path, runtime=runtime) as conversation:
                await conversation.prompt("hello")
        assert ("recall" in [tool.name for tool in client.requests[0].tools]) is offered


async def said(runtime: Runtime, place: Path, words: str, owner: str | None = None) -> str:
    """The id of a conversation in which something was said."""
    async with Conversation(SPEC, place, runtime=runtime, owner=owner) as conversation:
        await conversation.prompt(words)
        return conversation.id


async def test_earlier_conversations_of_the_same_owner_in_the_same_workspace_are_found(tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()

    def script(request: ModelRequest) -> Turn:
        last = request.messages[-1]
        if last.role == "user" and plain(last.content) == "remember":
            return call("recall", query="zanzibar", earlier=True)
        return say("zanzibar it is")

    for store in (tmp_path / "s", MemoryStorage()):
        async with Runtime(store, client=ScriptedLLM(script)) as runtime:
            mine = await said(runtime, here, "the code is zanzibar one", "ada")
            theirs = await said(runtime, here, "the code is zanzibar two", "bob")
            nobodys = await said(runtime, here, "the code is zanzibar three")
            elsewhere = await said(runtime, other, "the code is zanzibar four", "ada")
            for owner, found in (("ada", {mine}), ("bob", {theirs}), (None, {nobodys}), ("eve", set())):
                async with Conversation(SPEC, here, runtime=runtime, owner=owner) as conversation:
                    await conversation.send_message("remember")
                    state = await conversation.run()
                    (shown,) = recalled([event async for event in conversation.events()])
                    named = {name for name in (mine, theirs, nobodys, elsewhere) if name in shown}
                    assert named == found, shown
                    assert ("Nobody vouches" in shown) is bool(found)
                    assert state.branch.labels == (("outside",) if found else ())


async def test_a_call_does_not_find_itself(tmp_path: Path) -> None:
    (found,) = await asking(tmp_path, {"query": "penguins in the desert"})
    assert found.startswith("Nothing that you no longer see says")


CONCEPTS = ("safe vault", "cat kitten", "sand stones")
"""Words that mean the same."""


def vector_of(text: str) -> tuple[float, ...]:
    """How much a text is about each of them."""
    said = text.casefold()
    return (0.1, *(float(sum(said.count(word) for word in words.split())) for words in CONCEPTS))


class ByMeaning:
    """A model that answers by `script`, and embeds; `texts` are those that it was sent."""

    def __init__(self, script: Callable[[ModelRequest], Turn], error: ModelError | None = None) -> None:
        self._script, self._error = script, error
        self.texts: list[str] = []

    def __call__(self, request: ModelRequest) -> Turn:
        if not request.embeds:
            return self._script(request)
        assert request.one.model == "meaning"
        if self._error is not None:
            return self._error
        texts = [plain(message.content) for message in request.messages]
        self.texts += texts
        return ModelReply(vectors=tuple(map(vector_of, texts)), usage=Usage(len(texts)))


def opening(*queries: str) -> Callable[[ModelRequest], Turn]:
    """One that looks at a vault first, then at other places, and recalls."""
    turns: list[Turn] = [
        call("look", where="a vault, code hunter2"),
        *(call("look", where=f"place{at}") for at in range(12)),
        *(call("recall", query=query) for query in queries),
        finish("Done."),
    ]
    left = iter(turns)
    return lambda request: say(SUMMARY) if is_question(request) else next(left)


async def by_meaning(place: Path, model: ByMeaning, **more: Any) -> list[str]:
    async with Runtime(place / "s", client=ScriptedLLM(model)) as runtime:
        spec = agent(**more)
        secrets = {"CODE": "hunter2"}
        async with Conversation(spec, place, tools=[look], runtime=runtime, secrets=secrets) as conversation:
            await conversation.send_message("Look at all places.")
            state = await conversation.run()
            assert ("embedding" in state.ledger.spending) is (spec.embeddings is not None)
            return recalled([event async for event in conversation.events()])


async def test_what_left_the_view_is_found_by_its_meaning_and_sent_once_without_secrets(tmp_path: Path) -> None:
    model = ByMeaning(opening("the safe", "the safe again"))
    first, second = await by_meaning(tmp_path, model, embeddings="meaning")
    head, near, *lines = first.splitlines()
    assert head == "Nothing that you no longer see says 'the safe'. Try fewer or other words."
    assert near == "The nearest in meaning:"
    assert "a vault, code" in lines[0]
    assert len(lines) == 5
    assert second.splitlines()[1:] == first.splitlines()[1:]
    assert model.texts[-1] == "the safe again"
    assert len(model.texts) == len({*model.texts}), "what was embedded once is kept"
    assert not any("hunter2" in text for text in model.texts)


async def test_without_an_embedding_model_nothing_is_sent(tmp_path: Path) -> None:
    model = ByMeaning(opening("the safe"))
    (found,) = await by_meaning(tmp_path, model)
    assert found == "Nothing that you no longer see says 'the safe'. Try fewer or other words."
    assert model.texts == []


async def test_a_model_that_cannot_be_asked_leaves_what_the_words_find(tmp_path: Path) -> None:
    model = ByMeaning(opening("vault"), ModelUnavailable("it is down"))
    (found,) = await by_meaning(tmp_path, model, embeddings=LLM("meaning", num_retries=0))
    head, *lines, last = found.splitlines()
    assert head == "1 event that you no longer see says 'vault':"
    assert lines
    assert last == "[Not searched by meaning: meaning could not be asked: it is down]"


async def test_earlier_conversations_are_found_by_their_meaning_by_their_owner_only(tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()

    def script(request: ModelRequest) -> Turn:
        last = request.messages[-1]
        if last.role == "user" and plain(last.content) == "remember":
            return call("recall", query="kitten", earlier=True)
        return say("noted")

    spec = replace(SPEC, embeddings=LLM("meaning"))
    for store in (tmp_path / "s", MemoryStorage()):
        model = ByMeaning(script)
        async with Runtime(store, client=ScriptedLLM(model)) as runtime:
            mine = await said(runtime, here, "my cat is white", "ada")
            await said(runtime, here, "my cat is black", "bob")
            await said(runtime, other, "my cat is grey", "ada")
            for times in (1, 2):
                async with Conversation(spec, here, runtime=runtime, owner="ada") as conversation:
                    await conversation.send_message("remember")
                    state = await conversation.run()
                    (shown,) = recalled([event async for event in conversation.events()])
                    assert (
                        f"conversation {mine}, event 3, user: my cat is white"
                        in shown.partition("The nearest in meaning:")[2]
                    )
                    assert state.branch.labels == ("outside",)
                assert model.texts.count("my cat is white") == 1, "its vector is beside its log"
                assert model.texts.count("kitten") == times
            assert not {"my cat is black", "my cat is grey"} & {*model.texts}
