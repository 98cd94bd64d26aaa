"""Messages and their content, as pydantic models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from ... import specs
from ...specs.content import plain


class TextContent(BaseModel):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """Images by URL (`https:` or `data:`)."""

    type: Literal["image"] = "image"
    image_urls: list[str]


Content = TextContent | ImageContent


class Message(BaseModel):
    """A message as a model sees it."""

    role: Literal["user", "system", "assistant", "tool"] = "user"
    content: list[Content] = []
    tool_call_id: str | None = None
    name: str | None = None


def text_of(content: Iterable[Content]) -> str:
    """Return the texts, each on lines of its own."""
    return "\n".join(block.text for block in content if isinstance(block, TextContent))


def native_content(content: Iterable[Content]) -> tuple[specs.Content, ...]:
    """Return content as agentrt has it."""
    blocks = list[specs.Content]()
    for block in content:
        if isinstance(block, TextContent):
            blocks.append(specs.TextContent(block.text))
        else:
            blocks.extend(map(specs.ImageContent, block.image_urls))
    return tuple(blocks)


def compat_content(content: Sequence[specs.Content]) -> list[Content]:
    """Return agentrt's content as pydantic models; files and large texts are named."""
    blocks = list[Content]()
    for block in content:
        if isinstance(block, specs.ImageContent):
            blocks.append(ImageContent(image_urls=[block.url]))
        else:
            blocks.append(TextContent(text=plain([block])))
    return blocks
