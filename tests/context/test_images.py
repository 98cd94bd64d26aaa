"""Images in messages."""

from __future__ import annotations

import pytest

from agentrt.context.images import after_results, has_images, image_blobs, with_blobs, without_images
from agentrt.context.messages import Message
from agentrt.specs import BlobReference, FileContent, ImageContent, TextContent
from agentrt.specs.content import plain, text
from agentrt.tools.inspect_image import inspect_image

pytestmark = pytest.mark.pure

PNG = ImageContent("data:image/png;base64,AAAA")
BLOB = BlobReference("a" * 64, 3, media_type="image/png")
LOG = BlobReference("b" * 64, 9)


def test_blobs_that_are_images_become_data_urls() -> None:
    messages = [Message("user", (TextContent("see"), BLOB, LOG)), Message("assistant", text("yes"))]
    assert image_blobs(messages) == {BLOB.sha256: BLOB}
    shown = with_blobs(messages, {BLOB.sha256: b"\x00\x01\x02"})
    assert shown[0].content == (TextContent("see"), ImageContent("data:image/png;base64,AAEC"), LOG)
    assert shown[1] is messages[1]


def test_a_model_without_vision_reads_that_it_cannot_see() -> None:
    messages = [Message("user", (TextContent("see"), PNG, FileContent("/a")))]
    (message,) = without_images(messages, "blind/model")
    assert "which blind/model cannot see" in plain(message.content)
    assert not has_images([message])
    assert has_images(messages)


def test_a_model_without_vision_can_ask_about_an_image_by_its_number() -> None:
    messages = [Message("user", (TextContent("see"), PNG)), Message("tool", (BLOB, TextContent("and"), PNG))]
    told = without_images(messages, "blind/model", [inspect_image.definition])
    assert [plain(message.content).count("Ask about it with inspect_image") for message in told] == [1, 2]
    assert "Image 1, which blind/model cannot see" in plain(told[0].content)
    assert "Image 2" in plain(told[1].content)
    assert "Image 3" in plain(told[1].content)


def test_images_of_results_follow_behind_all_results_of_the_batch() -> None:
    messages = [
        Message("assistant", ()),
        Message("tool", (TextContent("a picture"), PNG), tool_call_id="1"),
        Message("tool", (BLOB,), tool_call_id="2"),
        Message("assistant", text("nice")),
        Message("tool", (PNG,), tool_call_id="3"),
    ]
    moved = after_results(messages)
    assert [message.role for message in moved] == ["assistant", "tool", "tool", "user", "assistant", "tool", "user"]
    assert [block for block in moved[3].content if not isinstance(block, TextContent)] == [PNG, BLOB]
    assert not has_images([message for message in moved if message.role == "tool"])
    assert all(message.content for message in moved if message.role == "tool")


def test_a_longer_conversation_begins_with_the_shorter_one() -> None:
    messages = [
        Message("user", (PNG,)),
        Message("assistant", ()),
        Message("tool", (TextContent("a"), PNG), tool_call_id="1"),
        Message("assistant", text("b")),
        Message("user", text("c")),
    ]
    shorter = after_results(messages[:3])
    assert after_results(messages)[: len(shorter)] == shorter
