"""What was said before a chat goes on with a conversation."""

from __future__ import annotations

from collections import deque

import msgspec
from rich.text import Text

from ...conversation import Conversation
from ...events import Cursor, MessageEvent
from ..story import Story
from .status import Task, plan_in

EVENTS = 500
"""Events that are looked at, the newest."""

LINES = 200
"""Lines of them that are told."""


class Earlier(msgspec.Struct, frozen=True):
    """The last lines of a conversation's story, and the plan that it has."""

    lines: tuple[Text, ...]
    plan: tuple[Task, ...]


async def earlier(conversation: Conversation) -> Earlier:
    """What was said and planned last."""
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
