"""Conversations that are recorded, to be replayed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agentrt import LLM, Agent, Conversation, Runtime, tool
from agentrt.events import Event
from agentrt.protocols import ModelClient
from agentrt.replaying import replay
from agentrt.storage import read_conversation
from agentrt.storage.framing import place
from agentrt.tools import ToolType
from tests.steering import running

AGENT = Agent(llm=LLM(model="scripted"), tools=())


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


@tool
async def fail(words: str) -> str:
    """Fail."""
    raise LookupError(words)


TOOLS = (greet, fail)


class Recorded(msgspec.Struct, frozen=True):
    """A recorded conversation: its events, and where each of its batches ends."""

    events: list[Event]
    ends: list[int]
    tools: Sequence[ToolType] = TOOLS
    name: str = "c"

    def of(self, *kinds: type[Event]) -> list[Any]:
        """The events of these types."""
        return [event for event in self.events if isinstance(event, kinds)]


def recorded(store: Path, name: str = "c", tools: Sequence[ToolType] = TOOLS) -> Recorded:
    """What is on disk of a conversation."""
    directory = store / "conversations" / name
    places = map(place, (directory / "events.jsonl").read_bytes().splitlines(keepends=True))
    ends = [found.seq for found in places if found is not None and found.i == found.n]
    return Recorded(read_conversation(directory), ends, tools, name)


@asynccontextmanager
async def live(
    root: Path,
    client: ModelClient,
    agent: Agent | None = AGENT,
    tools: Sequence[ToolType] = TOOLS,
    secrets: Mapping[str, str] = {},
    **given: Any,
) -> AsyncIterator[Conversation]:
    """A conversation to be recorded below a directory."""
    workspace = root / "work"
    workspace.mkdir(exist_ok=True)
    async with Runtime(root / "store", client=client, tools=tools, **given) as runtime:
        asked = Conversation(agent, workspace, id="c", tools=tools, runtime=runtime, secrets=secrets)
        async with asked as conversation:
            yield conversation


async def beside(conversation: Conversation, *doing: Callable[[], Any]) -> None:
    """Run a conversation, and do something meanwhile."""
    async with running(conversation):
        for do in doing:
            await do()


async def seen(conversation: Conversation, kind: type[Event], number: int = 1) -> None:
    """Return once there are so many events of a type."""
    async for event in conversation.stream():
        number -= isinstance(event, kind)
        if not number:
            return


async def same(events: Sequence[Event], tools: Sequence[ToolType] = ()) -> None:
    """Replaying gives the same events."""
    done = await replay(events, tools, patience=3.0)
    assert done.difference is None, done.difference
    assert done.events == len(events)
