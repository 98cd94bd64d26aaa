"""A server's answers as results of tools. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..specs import Content, ImageContent, TextContent
from ..specs.content import sound

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Media types of images that models can see."""


LARGEST_IMAGE = 5 << 20
"""Maximum bytes of an image that a model is shown."""

_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")


def is_image(data: str) -> bool:
    """Return whether base64 data is an image by its first bytes, and is not too large.

    After an invalid image, a provider refuses all further requests.
    """
    if len(data) > LARGEST_IMAGE * 4 // 3:
        return False
    try:
        return base64.b64decode(data, validate=True).startswith(_BEGINNINGS)
    except ValueError:
        return False


def content_of(result: CallToolResult) -> tuple[Content, ...]:
    """Return what the model is shown of a result: texts and images; structured content as JSON, if there is no text."""
    blocks = tuple(block for given in result.content for block in blocks_of(given))
    if result.structured_content is not None and not any(isinstance(block, TextContent) for block in blocks):
        said = json.dumps(result.structured_content, ensure_ascii=False, indent=1)
        return (TextContent(sound(said)), *blocks)
    return blocks or (TextContent("(no output)"),)


def read_of(result: ReadResourceResult) -> tuple[Content, ...]:
    """Return what the model is shown of a resource."""
    return tuple(block for given in result.contents for block in _resource(given)) or (TextContent("(empty)"),)


def said_by(result: GetPromptResult) -> tuple[Content, ...]:
    """Return what the model is shown of a prompt: with roles, unless all messages are the user's."""
    roles = {message.role for message in result.messages}
    found: list[Content] = []
    for message in result.messages:
        if roles != {"user"}:
            found.append(TextContent(f"{message.role}:"))
        found += blocks_of(message.content)
    return tuple(found) or (TextContent("(empty)"),)


def blocks_of(given: Any) -> Iterator[Content]:
    """Yield what the model is shown of a content block of the protocol."""
    match given.type:
        case "text":
            yield TextContent(sound(given.text))
        case "image" if given.mime_type in IMAGES and is_image(given.data):
            yield ImageContent(f"data:{given.mime_type};base64,{given.data}")
        case "image" | "audio":
            yield TextContent(
                f"[{given.type} of the type {sound(given.mime_type)}, {len(given.data) * 3 // 4:,} bytes]"
            )
        case "resource_link":
            about = f": {sound(given.description)}" if given.description else ""
            yield TextContent(f"[resource {sound(str(given.uri))} ({sound(given.name)}){about}]")
        case "resource":
            yield from _resource(given.resource)
        case other:
            yield TextContent(f"[content of the type {other}]")


def _resource(given: Any) -> Iterator[Content]:
    head = f"[resource {sound(str(given.uri))}]"
    if (text := getattr(given, "text", None)) is not None:
        yield TextContent(f"{head}\n{sound(text)}")
    elif given.mime_type in IMAGES and is_image(given.blob):
        yield ImageContent(f"data:{given.mime_type};base64,{given.blob}")
    else:
        yield TextContent(
            f"{head} of the type {sound(given.mime_type or 'unknown')}, {len(given.blob) * 3 // 4:,} bytes"
        )
