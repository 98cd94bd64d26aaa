"""A server's request to the conversation's model: as messages, and as the question to a person. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..context.messages import Message
from ..specs import Content
from ..specs.content import plain, sound, text
from .results import blocks_of

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams


def messages_of(params: CreateMessageRequestParams) -> list[Message]:
    """Return the messages of a request, in order."""
    made = [Message("system", text(sound(params.system_prompt)))] if params.system_prompt else []
    return [*made, *(Message(_role(given.role), _content(given.content)) for given in params.messages)]


def words_of(params: CreateMessageRequestParams) -> str:
    """Return the question to a person."""
    lines = "\n".join(f"{message.role}: {plain(message.content)}" for message in messages_of(params))
    return f"It wants your model to answer this, which costs you what the model costs:\n{lines}"


def _role(given: str) -> Any:
    return "assistant" if given == "assistant" else "user"


def _content(given: Any) -> tuple[Content, ...]:
    return tuple(block for one in (given if isinstance(given, list) else [given]) for block in blocks_of(one))
