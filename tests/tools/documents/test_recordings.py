"""What `read_document` hears and sees in recordings, through a provider's real interface and in the budget."""

from __future__ import annotations

import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentrt import LLM, Agent, Conversation, Limits, NeverConfirm, Runtime, Tool
from agentrt.actors.tool_models import beside
from agentrt.context.replies import ModelReply
from agentrt.events import AgentErrorEvent, BudgetReserved, ModelCalled, ObservationEvent
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.testing import Fault, ScriptedProvider, call, finish
from agentrt.usage import Usage
from tests.documents.making import FILES, lasts

pytestmark = pytest.mark.real

SAID = "The heron stood in the water. It waited for a fish. The meeting is on Thursday at nine."
A_SECOND = 0.0001
"""USD for whisper-1, as litellm knows."""


class Reader:
    """A conversation that reads one document with each message."""

    def __init__(self, provider: ScriptedProvider, conversation: Conversation) -> None:
        self.provider, self.conversation = provider, conversation

    async def __call__(self) -> ObservationEvent | AgentErrorEvent:
        await self.conversation.send_message("read")
        await self.conversation.run()
        results = [e async for e in self.events() if isinstance(e, ObservationEvent | AgentErrorEvent)]
        return [result for result in results if result.tool_name == "read_document"][-1]

    async def events(self) -> AsyncIterator[Any]:
        async for event in self.conversation.events():
            yield event


@asynccontextmanager
async def reader(
    place: Path, *asked: dict[str, Any], transcripts: Any = (ModelReply(text=SAID),), **more: Any
) -> AsyncIterator[Reader]:
    turns = [turn for each in asked for turn in (call("read_document", **each), finish("done"))]
    async with ScriptedProvider(turns, transcripts=transcripts) as provider:
        params = {"transcriber": more.pop("transcriber")} if "transcriber" in more else {}
        agent = Agent(
            llm=provider.llm(vision=True),
            tools=(Tool("read_document", params),),
            confirmation=NeverConfirm(),
            stuck=None,
            **more,
        )
        async with Runtime("memory://") as runtime, Conversation(agent, place, runtime=runtime) as conversation:
            yield Reader(provider, conversation)


async def test_what_is_said_is_written_down_and_billed_by_the_second(tmp_path: Path) -> None:
    async with reader(FILES, {"path": "heron.mp3"}) as read:
        found = await read()
        assert isinstance(found, ObservationEvent)
        said = plain(found.content)
        assert said.startswith(f"[{FILES}/heron.mp3: audio, 0:05 long]")
        assert SAID in said
        (form,) = [request for request in read.provider.requests if "response_format" in request]
        assert form["model"] == "whisper-1"
        (sound,) = read.provider.sounds
        assert lasts(sound) == pytest.approx(5.1, abs=0.2)
        (billed,) = [e async for e in read.events() if isinstance(e, ModelCalled) and e.usage_id == "transcription"]
        assert billed.model == "openai/whisper-1"
        assert billed.cost == pytest.approx(5.2 * A_SECOND, rel=0.05)


async def test_a_film_is_heard_and_seen(tmp_path: Path) -> None:
    async with reader(FILES, {"path": "heron.mp4"}) as read:
        found = await read()
        assert isinstance(found, ObservationEvent)
        assert SAID in plain(found.content)
        images = [block for block in found.content if isinstance(block, ImageContent)]
        assert len(images) == 8
        assert "[at 0:07:]" in plain(found.content)


async def test_words_are_looked_for_in_what_was_heard(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(FILES / "heron.ogg", "talks/heron.ogg")
    async with reader(tmp_path, {"path": "a.zip", "pages": "talks/heron.ogg", "query": "thursday"}) as read:
        said = plain((await read()).content)  # type: ignore[union-attr]
        assert "'thursday' stands in 1 part: 1" in said
        assert "meeting is on Thursday" in said


@pytest.mark.parametrize("model", ["gpt-4o-transcribe", "openai/gpt-4o-transcribe"])
async def test_another_model_is_billed_by_its_tokens(model: str) -> None:
    heard = ModelReply(text=SAID, usage=Usage(52, 20))
    async with reader(FILES, {"path": "heron.wav"}, transcripts=[heard], transcriber=model) as read:
        await read()
        (billed,) = [e async for e in read.events() if isinstance(e, ModelCalled) and e.usage_id == "transcription"]
        assert billed.usage == Usage(52, 20)
        assert billed.cost == pytest.approx(52 * 2.5e-6 + 20 * 1e-5)


async def test_a_budget_holds_it_back() -> None:
    async with reader(FILES, {"path": "heron.mp3"}, limits=Limits(max_cost=0.0001)) as read:
        await read.conversation.grant(0.05)
        found = await read()
        assert isinstance(found, ObservationEvent)
        reserved = [e async for e in read.events() if isinstance(e, BudgetReserved) and e.usage_id == "transcription"]
        assert reserved[0].cost >= 5 * A_SECOND
    async with reader(
        FILES, {"path": "heron.mp3"}, limits=Limits(max_cost=0.05), transcriber="openai/nobody-knows"
    ) as read:
        found = await read()
        assert isinstance(found, ObservationEvent)
        assert found.is_error
        assert "the price of this model is unknown" in plain(found.content)
        assert not read.provider.sounds


async def test_a_provider_that_refuses_is_told() -> None:
    async with reader(FILES, {"path": "heron.mp3"}, transcripts=[Fault(401, "no such key")]) as read:
        found = await read()
        assert isinstance(found, ObservationEvent)
        assert found.is_error
        assert "could not write down what is said: the provider of 'openai/whisper-1' refused the key" in plain(
            found.content
        )


async def test_a_page_without_text_is_seen(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (600, 200), "white")
    ImageDraw.Draw(image).text((20, 20), "Herons 42", fill="black", font_size=64)
    image.save(tmp_path / "scan.pdf")
    async with reader(tmp_path, {"path": "scan.pdf"}) as read:
        found = await read()
        assert isinstance(found, ObservationEvent)
        assert any(isinstance(block, ImageContent) for block in found.content)
        assert "[page 1:]" in plain(found.content)


@pytest.mark.pure
def test_a_model_of_the_same_provider_is_asked_at_the_same_address() -> None:
    own = LLM(model="openai/mine", base_url="http://127.0.0.1:1/v1", api_key_env="MINE", input_cost_per_token=1.0)
    assert beside(own, "whisper-1") == LLM(
        model="openai/whisper-1", base_url="http://127.0.0.1:1/v1", api_key_env="MINE"
    )
    assert beside(own, "groq/whisper-large-v3") == LLM(model="groq/whisper-large-v3")
    assert beside(LLM(model="anthropic/claude"), "whisper-1") == LLM(model="whisper-1")
    assert beside(LLM(model="gpt-5.5", api_key_env="MINE"), "whisper-1") == LLM(model="whisper-1", api_key_env="MINE")
