"""Messages in the form that goes over the wire."""

from __future__ import annotations

import pytest

from agentrt.context.messages import Message, ToolCall
from agentrt.llm.wire import wire_message, wire_tool
from agentrt.specs import BlobReference, ImageContent
from agentrt.specs.content import text
from tests import samples

pytestmark = pytest.mark.pure


def test_text_is_a_string() -> None:
    assert wire_message(Message("user", text("a", "b"))) == {"role": "user", "content": "a\nb"}


def test_an_assistants_calls_have_no_empty_content() -> None:
    wire = wire_message(Message("assistant", (), (ToolCall("1", "look", "{}"),)))
    assert wire["content"] is None
    assert wire["tool_calls"] == [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]


def test_images_are_blocks() -> None:
    wire = wire_message(Message("user", (*text("See:"), ImageContent("data:image/png;base64,AA"))))
    assert wire["content"] == [
        {"type": "text", "text": "See:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "auto"}},
    ]


def test_a_blob_is_named() -> None:
    blob = BlobReference("ab" * 32, 99, name="full output")
    wire = wire_message(Message("tool", (blob,), tool_call_id="1"))
    assert wire["content"] == "[full output: 99 bytes, kept for the user]"
    assert wire["tool_call_id"] == "1"


def test_a_tool_has_its_schema() -> None:
    function = wire_tool(samples.definition("look"))["function"]
    assert function["parameters"] == {"type": "object", "properties": {}, "required": []}
