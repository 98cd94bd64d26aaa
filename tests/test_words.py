"""The words of a run: `conversation.run().text()`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import LLM, Agent, Conversation, Delta, Runtime, run_sync, tool
from agentrt.conversation.words import BETWEEN, Words
from agentrt.events import Event, MessageEvent
from agentrt.specs.content import text
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish, say


def said(message: str, id: str) -> MessageEvent:
    return MessageEvent(id=id, source="agent", content=text(message))


@pytest.mark.pure
@given(st.text(min_size=1), st.lists(st.integers(0, 200)), st.integers(0, 200))
def test_the_pieces_are_the_whole_whatever_came_before_the_event(whole: str, cuts: list[int], seen: int) -> None:
    """Deltas that were not read before the event came are made up for by it."""
    words, places = Words(), sorted({min(cut, len(whole)) for cut in (*cuts, 0, len(whole))})
    pieces = [Delta("m", "text", whole[a:b], a, 0) for a, b in pairwise(places)]
    items: list[Event | Delta] = [*pieces[:seen], said(whole, "m")]
    taken = [piece for item in items for piece in words.take(item)]
    assert "".join(taken) == whole
    assert list(words.end(whole)) == []


@pytest.mark.pure
def test_what_was_missed_comes_with_the_event() -> None:
    words = Words()
    items: list[Event | Delta] = [Delta("m", "text", "Hello ", 0, 0), Delta("m", "text", "!", 11, 0)]
    assert [piece for item in [*items, said("Hello world!", "m")] for piece in words.take(item)] == ["Hello ", "world!"]


@pytest.mark.pure
def test_reasoning_and_output_are_no_words() -> None:
    words = Words()
    assert list(words.take(Delta("m", "reasoning", "hm", 0, 0))) == []
    assert list(words.take(Delta("a", "output", "hm", 0, 0))) == []
    assert list(words.take(MessageEvent(source="user", content=text("Begin.")))) == []
    assert list(words.end(None)) == []


@pytest.mark.real
async def test_what_is_said_before_calls_and_the_answer(tmp_path: Path) -> None:
    turns = [call("terminal", "I look.", command="true"), finish("All is well.")]
    async with Runtime(tmp_path / "store", client=ScriptedLLM(turns)) as runtime:
        async with Conversation(Agent(LLM("scripted")), tmp_path, runtime=runtime) as conversation:
            words = "".join([piece async for piece in conversation.stream_text("Begin.")])
    assert [part.strip() for part in words.split(BETWEEN)] == ["I look.", "All is well."]


@pytest.mark.real
async def test_a_script_goes_on_in_the_conversation_of_a_name(tmp_path: Path) -> None:
    def lookup(word: str) -> str:
        """Look a word up."""
        return f"{word} is known"

    def run(base_url: str) -> str:
        llm = LLM("openai/scripted", base_url=base_url, api_key="none")
        agent = Agent(llm, tools=(tool(lookup),))
        return run_sync(agent, "Go.", tmp_path, store=tmp_path / "store", id="ada")

    async with ScriptedProvider([say("One."), call("lookup", word="ada"), say("Two.")]) as provider:
        first, second = [await anyio.to_thread.run_sync(run, provider.base_url) for _ in range(2)]
    assert (first, second) == ("One.", "Two.")
    assert "ada is known" in str(provider.requests[-1]["messages"])


@pytest.mark.real
async def test_they_come_as_they_are_written(tmp_path: Path) -> None:
    async with ScriptedProvider([say("One two three four five.")], pace=0.01) as provider, Runtime(tmp_path) as runtime:
        async with Conversation(Agent(provider.llm()), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("Begin.")
            pieces = [piece async for piece in conversation.run().text()]
    assert "".join(pieces) == "One two three four five."
    assert len(pieces) > 1
