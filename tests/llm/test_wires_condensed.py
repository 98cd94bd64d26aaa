"""Whatever is cut out of a view, no provider refuses what is left."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentrt import Agent, Conversation, ExecutionStatus, LLMSummarizingCondenser, Runtime, tool
from agentrt.chain import Chain
from agentrt.context.condensing import cuts, head, maskable
from agentrt.context.messages import to_messages
from agentrt.context.views import viewed
from agentrt.events import Condensation, Event
from agentrt.llm import LiteLLMClient
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import TextContent
from agentrt.state import Seen
from agentrt.state.seeing import condensed
from agentrt.testing import ScriptedProvider, WireName, call, calls, finish, say
from agentrt.testing.turns import Turn

from .calling import WIRES, llm
from .test_wires import PNG

pytestmark = pytest.mark.real

SETTINGS: dict[WireName, dict[str, Any]] = {
    "chat": {},
    "responses": {"reasoning_effort": "high"},
    "anthropic": {"thinking_budget": 2048},
}
FEW = LLMSummarizingCondenser(max_size=4, keep_first=0)


@tool
async def look(where: str) -> str:
    """Look somewhere."""
    return f"Nothing in {where}, of which much could be said. " * 4


def thought(turn: Turn, words: str) -> Turn:
    """A turn that the model thought about."""
    return replace(turn, reasoning=words)


async def lived(place: Path, provider: ScriptedProvider, wire: WireName) -> tuple[list[Seen], dict[int, Event], Agent]:
    """A view with thoughts, batches, images, a word of the user in between and a question, and its events."""
    agent = Agent(llm=llm(provider, wire, stream=False, **SETTINGS[wire]), tools=())
    async with Runtime(place / "s") as runtime:
        async with Conversation(agent, place, tools=[look], runtime=runtime) as conversation:
            for words in ("one", "two"):
                await conversation.send_message([TextContent(words), PNG])
                assert (await conversation.run()).status is ExecutionStatus.FINISHED
            events = {event.seq: event async for event in conversation.events()}
            return list(conversation.state.branch.view), events, agent


@pytest.mark.parametrize("wire", WIRES)
async def test_for_every_cut_nothing_is_refused(client: LiteLLMClient, tmp_path: Path, wire: WireName) -> None:
    script: list[Turn] = [
        thought(calls(("look", {"where": "a"}), ("look", {"where": "b"}), thought="Both."), "Hm."),
        call("look", "And this.", where="c"),
        thought(call("look", where="d"), "Hm, hm."),
        say("That was all."),
        call("look", where="e"),
        thought(call("look", "Last.", where="f"), "Oh."),
        finish("Done."),
    ]
    async with ScriptedProvider(lambda body: script.pop(0) if script else say("Go on.")) as provider:
        view, events, agent = await lived(tmp_path, provider, wire)
        assert any(seen.thinks for seen in view) is (wire != "chat")
        first = head(view, FEW.keep_first)
        places = [position for position in cuts(view) if position >= first]
        assert len(places) > (8 if wire == "chat" else 3)
        tools = events[view[0].seq].tools  # type: ignore[attr-defined]
        hidden = tuple(seen.id for seen in maskable(view, 1))
        before = len(provider.requests)
        for start, end in combinations(places, 2):
            for masked in ((), hidden):
                gone = tuple(seen.id for seen in view[start:end])
                made = Condensation(
                    seq=view[-1].seq + 1, forgotten_event_ids=gone, summary="It looked.", masked_event_ids=masked
                )
                there = {**events, made.seq: made}
                left = condensed(Chain(view), made)
                messages = to_messages(viewed(left, there))
                await client.complete(ModelRequest(agent.llm, tuple(messages), tools), Watch())
        assert len(provider.requests) - before == len(list(combinations(places, 2))) * 2
        assert provider.refused == []
