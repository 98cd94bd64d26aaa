"""Messages and tools in the chat-completions form that litellm takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..context.messages import Message
from ..specs import Content, ImageContent, ToolDefinition
from ..specs.content import plain


def wire_message(message: Message) -> dict[str, Any]:
    """One message; content is a string unless there are images."""
    wire: dict[str, Any] = {"role": message.role, "content": _content(message.content, message.role)}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        wire["content"] = wire["content"] or None
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _content(content: Sequence[Content], role: str) -> str | list[dict[str, Any]]:
    if role == "assistant" or not any(isinstance(block, ImageContent) for block in content):
        return plain(content)
    blocks: list[dict[str, Any]] = []
    for block in content:
        if isinstance(block, ImageContent):
            blocks.append({"type": "image_url", "image_url": {"url": block.url, "detail": block.detail}})
        else:
            blocks.append({"type": "text", "text": plain((block,))})
    return blocks


def wire_tool(definition: ToolDefinition) -> dict[str, Any]:
    """One tool."""
    parameters = msgspec.json.decode(definition.parameters)
    function = {"name": definition.name, "description": definition.description, "parameters": parameters}
    return {"type": "function", "function": function}
