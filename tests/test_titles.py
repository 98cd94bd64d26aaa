"""When a conversation gets a title from its model."""

from __future__ import annotations

from typing import Any

import pytest

from agentrt.conversation.titles import needs_title
from agentrt.events import ConversationCreated, Event, ExecutionStatus, RunEnded, TitleChanged
from agentrt.specs import LLM, Agent, LocalWorkspace
from agentrt.state import fold

pytestmark = pytest.mark.pure

ENDED = RunEnded(status=ExecutionStatus.FINISHED, reason="answered")


def created(**fields: Any) -> Event:
    return ConversationCreated(
        conversation_id="c", agent=Agent(LLM("scripted")), workspace=LocalWorkspace("/work"), **fields
    )


def test_after_the_first_answer() -> None:
    state = fold([created()])
    assert needs_title([ENDED], state)
    assert not needs_title([], state)
    assert not needs_title([RunEnded(status=ExecutionStatus.IDLE, reason="nothing_to_do")], state)


@pytest.mark.parametrize(
    "events",
    [[created(), TitleChanged(title="Mine")], [created(delegated_by="above")], [created(parent="before")], []],
    ids=["titled", "delegated", "forked", "sleeping"],
)
def test_not_where_it_has_a_name(events: list[Event]) -> None:
    assert not needs_title([ENDED], fold(events))
