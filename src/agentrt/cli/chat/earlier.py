"""The earlier part of a conversation that a chat continues."""

from __future__ import annotations

from collections import deque

import msgspec
from rich.text import Text

from ...conversation import Conversation
from ...events import Cursor, MessageEvent
from ..story import Story
from .status import Task, plan_in

EVENTS = 500
"""Number of the newest events that are read."""

LINES = 200
"""Maximum number of their lines that are printed."""


class Earlier(msgspec.Struct, frozen=True):
    """The last lines of a conversation's story, and its plan."""

    lines: tuple[Text, ...]
    plan: tuple[Task, ...]


async def earlier(conversation: Conversation) -> Earlier:
    """Return the latest messages and plan."""
    state, story = conversation.state, Story()
    story.use(state.tools)
    begin, told, plan = max(0, state.seq - EVENTS), 0, tuple[Task, ...]()
    lines: deque[Text] = deque(maxlen=LINES)
    async for event in conversation.events(Cursor(state.epoch, begin)):
        plan = found if (found := plan_in(event)) is not None else plan
        heard = [Text()] if isinstance(event, MessageEvent) and event.source == "user" else []
        for line in (*heard, *story.tell(event)):
            lines.append(line)
            told += 1
    if begin or told > LINES:
        lines.appendleft(Text(f"… what came before: agentrt show {conversation.id}", "dim"))
    return Earlier(tuple(lines), plan)
