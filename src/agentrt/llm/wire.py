"""Messages and tools in the form of chat completions, which litellm converts for each provider. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..context.messages import Message
from ..specs import LLM, Content, ImageContent, ToolDefinition
from ..specs.content import plain

_WANT_REASONING_BACK = ("deepseek", "moonshot", "kimi", "minimax", "glm", "mimo")
"""Parts of the names of models that need their reasoning before a tool call to be sent back."""

_THINKING = ("thinking", "redacted_thinking")
"""Blocks that may be sent back in chat completions; a model of the same name may have other blocks from another
interface.
"""

_MARK = {"type": "ephemeral"}


def wire_messages(messages: Sequence[Message], llm: LLM, *, marks: bool = False) -> list[dict[str, Any]]:
    """Return the messages; with `marks`, the system prompt and the last message are marked as cacheable."""
    back = wants_reasoning(llm.model)
    wire = [wire_message(message, llm.model, reasoning=back) for message in messages]
    if marks and wire:
        place = next((place for place, message in enumerate(wire) if message["role"] == "system"), 0)
        first = wire[place]
        if first["role"] == "system":  # what is the same in many conversations is cached for them all
            first["content"] = [*map(_marked, messages[place].content[:-1]), *_text(messages[place].content[-1:])]
        last = next((message for message in reversed(wire) if message["role"] != "assistant"), wire[-1])
        for message in (first, last) if first is not last else (first,):
            _mark(message)
    return wire


def wants_reasoning(model: str) -> bool:
    """Return whether a model is sent its own reasoning."""
    return any(part in model.lower() for part in _WANT_REASONING_BACK)


def marked_message(message: Message, model: str) -> dict[str, Any]:
    """Return one message, marked as the end of the cacheable part."""
    wire = wire_message(message, model)
    _mark(wire)
    return wire


def wire_message(message: Message, model: str = "", *, reasoning: bool = False) -> dict[str, Any]:
    """Return one message; content is a string unless it has images. Thinking is sent back only to its own `model`."""
    wire: dict[str, Any] = {"role": message.role, "content": _content(message.content, message.role)}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        wire["content"] = wire["content"] or None
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.thinking is not None and message.thinking.model == model:
        blocks = [block for block in msgspec.json.decode(message.thinking.blocks) if block.get("type") in _THINKING]
        if blocks:
            wire["thinking_blocks"] = blocks
    if reasoning and message.reasoning:
        wire["reasoning_content"] = message.reasoning
    return wire


def _marked(block: Content) -> dict[str, Any]:
    return {"type": "text", "text": plain((block,)), "cache_control": _MARK}


def _text(blocks: Sequence[Content]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": plain((block,))} for block in blocks]


def _mark(wire: dict[str, Any]) -> None:
    """Mark a message as the end of the cacheable part."""
    content = wire["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if content:
        wire["content"] = [*content[:-1], {**content[-1], "cache_control": _MARK}]


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
    """Return one tool."""
    parameters = msgspec.json.decode(definition.parameters)
    function = {"name": definition.name, "description": definition.description, "parameters": parameters}
    return {"type": "function", "function": function}
