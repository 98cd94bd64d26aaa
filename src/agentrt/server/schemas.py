"""What requests and replies hold, besides controls and events."""

from __future__ import annotations

import msgspec

from ..conversation import Conversation
from ..events import Cursor
from ..specs import Agent


class CreateConversation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new conversation; the same `id` twice is refused. With a `message` the agent begins to work on it."""

    agent: Agent | None = None
    """None: that of the server."""
    workspace: str | None = None
    """A directory below those of the server; None: a new one."""
    id: str | None = None
    title: str = ""
    tags: dict[str, str] = {}
    secrets: dict[str, str] = {}
    message: str | None = None


class ConversationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it stands at `cursor`; `cost` in USD, of the calls whose price is known."""

    id: str
    status: str
    cursor: Cursor
    title: str = ""
    tags: dict[str, str] = {}
    cost: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    pending: tuple[str, ...] = ()
    """The ids of the actions that wait for a person."""


def info_of(conversation: Conversation) -> ConversationInfo:
    """What there is to say of a conversation."""
    state, ledger = conversation.state, conversation.state.ledger
    return ConversationInfo(
        id=conversation.id,
        status=state.status.value,
        cursor=conversation.cursor,
        title=ledger.title,
        tags=ledger.tags,
        cost=ledger.cost,
        prompt_tokens=ledger.usage.prompt_tokens,
        completion_tokens=ledger.usage.completion_tokens,
        pending=tuple(pending.action.id for pending in conversation.pending_confirmation),
    )
