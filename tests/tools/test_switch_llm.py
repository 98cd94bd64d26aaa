"""`switch_llm` and `inspect_image`, in conversations with saved models."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, Limits, Runtime
from agentrt.events import ConversationStateUpdateEvent, Event, ModelCalled, ObservationEvent
from agentrt.llm.profiles import ProfileStore, profiles_file
from agentrt.specs import ImageContent, TextContent, Tool
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, say

pytestmark = pytest.mark.simulated

STRONG = LLM(model="scripted/strong", api_key_env="STRONG_KEY")
BLIND = LLM(model="scripted/blind", vision=False)
PNG = ImageContent("data:image/png;base64,iVBORw0KGgo=")


@pytest.fixture(autouse=True)
def _profiles(tmp_path: Path) -> None:
    """Saved models: "strong", whose price nobody knows, and "blind"."""
    profiles = ProfileStore(profiles_file(tmp_path / "store"))
    profiles.save("strong", STRONG)
    profiles.save("blind", BLIND)


async def lived(tmp_path: Path, model: ScriptedLLM, agent: Agent, *said: TextContent | ImageContent) -> list[Event]:
    """The events of a conversation in which this was said."""
    environment = {"STRONG_KEY": "sk-very-strong-key"}
    async with (
        Runtime(tmp_path / "store", client=model, environment=environment) as runtime,
        Conversation(agent, tmp_path, runtime=runtime) as conversation,
    ):
        await conversation.send_message(list(said) or "Go.")
        async for _ in conversation.run():
            pass
        return [event async for event in conversation.events()]


def results(events: list[Event]) -> list[tuple[bool, str]]:
    """What the tools gave."""
    return [(event.is_error, plain(event.content)) for event in events if isinstance(event, ObservationEvent)]


@pytest.mark.real
async def test_the_next_call_is_of_the_other_model(tmp_path: Path) -> None:
    model = ScriptedLLM([call("switch_llm", profile_name="strong", reason="It is hard."), say("Done.")])
    agent = Agent(llm=LLM(model="scripted/weak"), tools=(Tool("switch_llm"),))
    events = await lived(tmp_path, model, agent)
    assert results(events) == [(False, "From the next call on the model is scripted/strong.")]
    assert [request.one.model for request in model.requests] == ["scripted/weak", "scripted/strong"]
    (change,) = (event for event in events if isinstance(event, ConversationStateUpdateEvent))
    assert (change.source, change.key) == ("agent", "llm")


@pytest.mark.real
async def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    model = ScriptedLLM([call("switch_llm", profile_name="none"), say("Done.")])
    events = await lived(tmp_path, model, Agent(llm=LLM(model="scripted/weak"), tools=(Tool("switch_llm"),)))
    ((is_error, said),) = results(events)
    assert is_error
    assert "no profile 'none'" in said
    assert "(known: blind, strong)" in said


@pytest.mark.real
async def test_a_budget_needs_a_price(tmp_path: Path) -> None:
    weak = LLM(model="scripted/weak", input_cost_per_token=1e-6, output_cost_per_token=1e-6)
    model = ScriptedLLM([call("switch_llm", profile_name="strong"), say("Done.")])
    agent = Agent(llm=weak, tools=(Tool("switch_llm"),), limits=Limits(max_cost=1.0))
    ((is_error, said),) = results(await lived(tmp_path, model, agent))
    assert (is_error, said) == (True, "the price of scripted/strong is unknown, and this conversation has a budget")


async def test_a_model_that_sees_is_asked_about_an_image(tmp_path: Path) -> None:
    model = ScriptedLLM(
        [
            call("inspect_image", image_index=2, question="Colour?", profile_name="strong"),
            say("Red."),
            say("Done."),
        ]
    )
    agent = Agent(llm=BLIND, tools=(Tool("inspect_image"),))
    events = await lived(tmp_path, model, agent, TextContent("Two."), PNG, ImageContent("data:image/png;base64,AAAA"))
    assert results(events) == [(False, "Red.")]
    asked = model.requests[1]
    assert asked.one.model == "scripted/strong"
    (message,) = asked.messages
    assert message.content == (TextContent("Colour?"), ImageContent("data:image/png;base64,AAAA"))
    assert [event.usage_id for event in events if isinstance(event, ModelCalled)] == ["default", "vision", "default"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            {"image_index": 3, "question": "?", "profile_name": "strong"},
            "no image 3 in what you see: there are 1",
        ),
        ({"image_index": 1, "question": "?", "profile_name": "blind"}, "scripted/blind cannot see images"),
        ({"image_index": 1, "question": "?"}, "scripted/blind cannot see images"),
        ({"image_index": 1, "question": "?", "profile_name": "none"}, "no profile 'none'"),
    ],
)
async def test_what_cannot_be_looked_at(tmp_path: Path, arguments: dict[str, object], why: str) -> None:
    model = ScriptedLLM([call("inspect_image", **arguments), say("Done.")])
    ((is_error, said),) = results(await lived(tmp_path, model, Agent(llm=BLIND, tools=(Tool("inspect_image"),)), PNG))
    assert is_error
    assert why in said


async def test_the_tool_may_have_a_model_of_its_own(tmp_path: Path) -> None:
    model = ScriptedLLM([call("inspect_image", image_index=1, question="?"), say("A cat."), say("Done.")])
    agent = Agent(llm=BLIND, tools=(Tool("inspect_image", {"profile": "strong"}),))
    assert results(await lived(tmp_path, model, agent, PNG)) == [(False, "A cat.")]
