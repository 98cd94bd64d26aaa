"""Results of a server, as a model is shown them."""

from __future__ import annotations

import base64

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from agentrt import specs
from agentrt.mcp.results import LARGEST_IMAGE, content_of, is_image
from tests.mcp.server import PNG

pytestmark = pytest.mark.pure


def shown(*blocks: object, **more: object) -> tuple[specs.Content, ...]:
    return content_of(CallToolResult(content=list(blocks), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data", ["this is *** no base64", base64.b64encode(b"plain words").decode(), "A" * (LARGEST_IMAGE * 4 // 3 + 1), ""]
)
def test_an_image_that_is_none_is_told_in_words(data: str) -> None:
    assert not is_image(data)
    (block,) = shown(ImageContent(data=data, mime_type="image/png"))
    assert isinstance(block, specs.TextContent)
    assert block.text.startswith("[image of the type image/png")


def test_an_image_is_one() -> None:
    (block,) = shown(ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png"))
    assert isinstance(block, specs.ImageContent)


def test_what_is_structured_is_told_where_no_text_says_it() -> None:
    assert shown(structured_content={"a": 1}) == (specs.TextContent('{\n "a": 1\n}'),)
    assert shown(TextContent(text="one"), structured_content={"a": 1}) == (specs.TextContent("one"),)
    assert shown() == (specs.TextContent("(no output)"),)
