"""Conversations with a small real model: it follows nothing, so these are about the wire, and about how they end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, Delta, Event, ExecutionStatus, Limits, State, ToolType, tool
from agentrt.events import ActionEvent, AgentErrorEvent, InterruptEvent, MessageEvent, ModelCalled, ObservationEvent
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.storage.checking import verify

from .serving import WINDOW, model_file, served

pytestmark = [
    pytest.mark.real,
    pytest.mark.real_model,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]

SHORT, LONG = 24, WINDOW * 3 // 4
"""Tokens of an answer: a long one takes minutes."""

MAX_STEPS = 2

CUT_SECONDS = 2.0
"""How long an interrupt may take, until the run has ended."""

ANSWER_SECONDS = 30.0
"""How long a short answer may take of a server that is at work on nothing else."""

POINTING = r'root ::= "<function=point>\n<parameter=to>" ("north" | "south") "</parameter>\n</function>"'
"""A grammar in llama.cpp's notation, GBNF."""

T = TypeVar("T", bound=Event | Delta)


@tool
async def point(to: Literal["north", "south"]) -> str:
    """Point somewhere."""
    return f"Pointed {to}."


@tool
async def note(words: str) -> str:
    """Note something."""
    return f"Noted {len(words)} characters."


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    """The model, which takes the likeliest words."""
    directory = tmp_path_factory.mktemp("served")
    model = model_file(directory)
    try:
        with served(model, directory / "server.log") as base_url:
            yield LLM(
                model="openai/gemma",
                base_url=base_url,
                temperature=0.0,
                max_output_tokens=SHORT,
                timeout=120.0,
                num_retries=0,
                native_tool_calling=True,
            )
    finally:
        model.unlink()


def forced(llm: LLM, name: str) -> LLM:
    """The model, held to calls of one tool: the server makes a grammar of its parameters."""
    choice = {"type": "function", "function": {"name": name}}
    return replace(llm, extra_body={"tool_choice": choice})


def described(llm: LLM) -> LLM:
    """The model, with tools that it only reads of, and held to words that call one."""
    return replace(llm, native_tool_calling=False, extra_body={"grammar": POINTING})


@asynccontextmanager
async def begun(llm: LLM, directory: Path, *tools: ToolType) -> AsyncIterator[Conversation]:
    """A conversation; what it leaves is looked over."""
    agent = Agent(llm=llm, tools=(), system_prompt="You are a test.", limits=Limits(max_steps=MAX_STEPS))
    async with Conversation(agent, directory.parent, tools=tools, store=directory) as conversation:
        yield conversation
        state = conversation.state
        assert not state.in_flight
        assert not state.branch.pending
    log = directory / "conversations" / conversation.id
    assert verify(log).sound
    assert [event.seq for event in read_conversation(log)] == list(range(1, state.seq + 1))


async def run(conversation: Conversation, words: str) -> list[Event | Delta]:
    """Say something; all that comes of it."""
    await conversation.send_message(words)
    return [item async for item in conversation.run().stream()]


def check_ended(state: State) -> None:
    """It ended by itself: with an answer, or after as many calls as it may make without one."""
    if state.status is ExecutionStatus.ERROR:
        assert state.error is not None
        assert state.error.code == "max_steps"
    else:
        assert state.status is ExecutionStatus.FINISHED


def of(kind: type[T], items: Sequence[Event | Delta]) -> list[T]:
    """Those of one type."""
    return [item for item in items if isinstance(item, kind)]


async def test_words_are_shown_as_they_come(llm: LLM, tmp_path: Path) -> None:
    async with begun(llm, tmp_path / "store") as conversation:
        items = await run(conversation, "The capital of France is")
        check_ended(conversation.state)
    said = [item for item in of(MessageEvent, items) if item.source == "agent"]
    called = of(ModelCalled, items)
    assert len(said) == len(called)
    for message, call in zip(said, called, strict=True):
        deltas = [delta for delta in of(Delta, items) if delta.becomes == message.id]
        assert len(deltas) > 4
        shown, whole = "".join(delta.text for delta in deltas), plain(message.content)
        assert whole.startswith(shown), "its event may come before the last piece was read"
        assert len(shown) > len(whole) // 2
        assert max(map(items.index, deltas)) < items.index(call)
        assert call.usage.prompt_tokens > 0  # this server counts what it does not stream: here it is estimated
        assert call.usage.completion_tokens > 0


async def test_tokens_are_counted_by_the_server(llm: LLM, tmp_path: Path) -> None:
    async with begun(replace(llm, stream=False), tmp_path / "store") as conversation:
        items = [*await run(conversation, "The capital of France is"), *await run(conversation, "And of Spain?")]
        total = conversation.state.ledger.usage
    used = [call.usage for call in of(ModelCalled, items)]
    assert 10 < used[0].prompt_tokens < 200
    assert all(0 < usage.completion_tokens <= SHORT for usage in used)
    for before, after in pairwise(used):
        assert after.prompt_tokens > before.prompt_tokens + before.completion_tokens, "an answer is in the next prompt"
    assert total.prompt_tokens == sum(usage.prompt_tokens for usage in used)
    assert total.completion_tokens == sum(usage.completion_tokens for usage in used)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("native", [True, False])
async def test_a_grammar_makes_tool_calls(llm: LLM, tmp_path: Path, native: bool, stream: bool) -> None:
    held = replace(forced(llm, "point") if native else described(llm), stream=stream)
    async with begun(held, tmp_path / "store", point) as conversation:
        items = await run(conversation, "Which way?")
    calls, seen = of(ActionEvent, items), of(ObservationEvent, items)
    assert [call.tool_name for call in calls] == ["point"] * MAX_STEPS
    ways = [msgspec.json.decode(call.arguments_json, type=dict[str, str])["to"] for call in calls]
    assert set(ways) <= {"north", "south"}
    assert [plain(result.content) for result in seen] == [f"Pointed {way}." for way in ways]
    assert len({call.tool_call_id for call in calls}) == MAX_STEPS


async def test_an_interrupt_ends_a_stream_and_the_server_goes_on(llm: LLM, tmp_path: Path) -> None:
    shown, cut_at = "", 0.0
    items: list[Event | Delta] = []
    async with begun(replace(llm, max_output_tokens=LONG), tmp_path / "store") as conversation:
        await conversation.send_message("The capital of France is")
        async for item in conversation.run().stream():
            items.append(item)
            if isinstance(item, Delta) and len(of(Delta, items)) == 5:
                shown = "".join(delta.text for delta in of(Delta, items))
                cut_at = time.monotonic()
                await conversation.interrupt()
        assert time.monotonic() - cut_at < CUT_SECONDS
        assert conversation.state.status is ExecutionStatus.PAUSED
    assert len(of(InterruptEvent, items)) == 1
    (said,), (called,) = of(MessageEvent, items), of(ModelCalled, items)
    assert said.partial
    assert plain(said.content).startswith(shown)
    assert called.error == "interrupted"

    asked_at = time.monotonic()
    async with begun(llm, tmp_path / "next") as conversation:
        assert of(MessageEvent, await run(conversation, "And of Spain?"))
    assert time.monotonic() - asked_at < ANSWER_SECONDS, "the server still makes the answer that nobody wants"


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 1.5])
async def test_a_run_ends_whatever_the_model_says(llm: LLM, tmp_path: Path, native: bool, temperature: float) -> None:
    rambling = replace(llm, native_tool_calling=native, temperature=temperature)
    async with begun(rambling, tmp_path / "store", note) as conversation:
        for words in ("Fix the tests.", "\x00{}<end_of_turn>"):
            called = of(ModelCalled, await run(conversation, words))
            assert 1 <= len(called) <= MAX_STEPS
            check_ended(conversation.state)


@pytest.mark.parametrize(("temperature", "max_output_tokens"), [(0.0, SHORT), (1.5, 16), (1.0, 5)])
async def test_a_run_ends_whatever_the_model_calls(
    llm: LLM, tmp_path: Path, temperature: float, max_output_tokens: int
) -> None:
    """Also where its arguments are cut in the middle."""
    noting = replace(forced(llm, "note"), temperature=temperature, max_output_tokens=max_output_tokens)
    async with begun(noting, tmp_path / "store", note) as conversation:
        items = await run(conversation, "Fix the tests.")
        check_ended(conversation.state)
        assert conversation.state.status is ExecutionStatus.ERROR
        calls, errors = of(ActionEvent, items), of(AgentErrorEvent, items)
        answered = [seen.action_id for seen in of(ObservationEvent, items)] + [error.action_id for error in errors]
        assert len(calls) == MAX_STEPS
        assert sorted(answered) == sorted(call.id for call in calls)
        if max_output_tokens == 5:
            assert all(call.malformed for call in calls)
