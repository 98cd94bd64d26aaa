"""`do`: carries out a control; see `Conversation.do`."""

from __future__ import annotations

from ..controls import AnyControl, Reply
from .conversation import Conversation


async def do(conversation: Conversation, control: AnyControl, by: str | None = None) -> Reply:
    """What a control says, on behalf of the principal `by`."""
    return await conversation.do(control, by)
