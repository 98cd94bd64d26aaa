"""Blocks of content, in messages and in observations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec


class TextContent(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Plain text."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, gc=False, tag="image", omit_defaults=True):
    """An image by URL (`https:` or `data:`)."""

    url: str
    detail: str = "auto"


TEXT = "text/plain; charset=utf-8"


class BlobReference(msgspec.Struct, frozen=True, gc=False, tag="blob", omit_defaults=True):
    """Bytes kept beside the log, named by their SHA-256 (64 hex digits); `size` in bytes."""

    sha256: str
    size: int
    media_type: str = TEXT
    name: str = ""


class FileContent(msgspec.Struct, frozen=True, gc=False, tag="file", omit_defaults=True):
    """A file of the workspace, by path."""

    path: str
    media_type: str = ""


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """A provider's own record of what `model` thought: a JSON array of its blocks, perhaps signed or encrypted.

    It goes back as it came, to that model and to no other.
    """

    model: str
    blocks: msgspec.Raw


Content: TypeAlias = TextContent | ImageContent | FileContent | BlobReference


def sound(text: str) -> str:
    """The text as it can be stored: pairs of surrogates joined that came in two pieces, single ones replaced."""
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def text(*parts: str) -> tuple[Content, ...]:
    """A content list of one text block a part."""
    return tuple(TextContent(part) for part in parts)


def plain(content: Iterable[Content]) -> str:
    """The text of a content list; other blocks by a short description in brackets."""
    pieces = []
    for block in content:
        match block:
            case TextContent():
                pieces.append(block.text)
            case ImageContent():
                pieces.append("[image]")
            case FileContent():
                pieces.append(f"[file {block.path}]")
            case BlobReference():
                pieces.append(f"[{block.name or 'full output'} kept as blob {block.sha256[:12]}, {block.size} bytes]")
    return "\n".join(pieces)
