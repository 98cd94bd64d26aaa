"""Logs written without the store, for the tests of what only reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from agentrt.events import ConversationCreated, Event
from agentrt.specs import LLM, Agent
from agentrt.storage.framing import frame
from tests import samples


def write_log(root: Path, name: str, *events: Event, after: int = 0) -> Path:
    """Append a batch to a conversation's log, which is made with it; `after` is the last seq so far."""
    path = root / "conversations" / name / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(frame(samples.numbered(events, after + 1), durable=after)))
    return path


def conversation(root: Path, name: str, *said: Event | str, owner: str | None = None) -> Path:
    """A new conversation's log, with its beginning in the first batch; strings are messages of a user."""
    events = [samples.message(event) if isinstance(event, str) else event for event in said]
    return write_log(root, name, *created(name, owner=owner), *events)


def created(name: str, parent: str | None = None, owner: str | None = None) -> Sequence[Event]:
    """The first two events."""
    first, prompt = samples.beginning(Agent(llm=LLM(model="scripted")))
    assert isinstance(first, ConversationCreated)
    return replace(first, conversation_id=name, parent=parent, owner=owner), prompt
