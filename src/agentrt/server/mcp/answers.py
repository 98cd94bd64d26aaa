"""The answers of the MCP server's tools, as structs; the output schemas of the tools are made from them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ...decisions import awaiting, waiting
from ...events import InputRequested
from ...state import Pending, State


class Named(msgspec.Struct):
    """A conversation's id alone: the answer for a key that may not read."""

    conversation: str


class Action(msgspec.Struct):
    """A call of a tool that waits."""

    action: str
    tool: str
    arguments: dict[str, Any]


class Question(msgspec.Struct):
    """What a tool asks a person while it runs."""

    request: str
    asks: str
    message: str
    url: Annotated[str, Meta(description="The address that the person is to open.")] = ""


class Standing(Named, kw_only=True):
    """The state of a conversation."""

    status: str = ""
    answer: str | None = None
    cursor: Annotated[int, Meta(description="Give this as `after`, to be told of what comes later only.")] = 0
    cost: Annotated[float, Meta(description="US dollars.")] = 0.0
    waits_for_a_person: list[Action] = []
    asks_a_person: list[Question] = []
    waits_for_its_client: list[Action] = []
    error: str = ""
    answered: Annotated[str, Meta(description="Who has answered for the person, where nobody could be asked.")] = ""


class Happened(Standing, kw_only=True):
    """The state of a conversation, and the events in it up to the cursor."""

    events: list[dict[str, Any]] = []


class Row(Named, kw_only=True):
    """A conversation in a list."""

    title: str = ""
    status: str = ""
    updated: str = ""


class Rows(msgspec.Struct):
    """Conversations, the last written first."""

    conversations: list[Row]


def standing_of(name: str, state: State) -> Standing:
    """Return the state of a conversation, as a tool's answer."""
    return Standing(
        conversation=name,
        status=state.status.value,
        answer=state.answer,
        cursor=state.seq,
        cost=round(state.ledger.cost, 6),
        waits_for_a_person=list(map(_action, waiting(state))),
        asks_a_person=list(map(_question, state.branch.inputs)),
        waits_for_its_client=list(map(_action, awaiting(state))),
        error=state.error.detail if state.error is not None else "",
    )


def _action(pending: Pending) -> Action:
    arguments = msgspec.json.decode(pending.action.arguments_json)
    return Action(pending.action.id, pending.action.tool_name, arguments)


def _question(asked: InputRequested) -> Question:
    return Question(asked.id, asked.asks, asked.message, asked.url)
