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


class BlobReference(msgspec.Struct, frozen=True, gc=False, tag="blob", omit_defaults=True):
    """Bytes kept beside the log, named by their SHA-256 (64 hex digits); `size` in bytes."""

    sha256: str
    size: int
    media_type: str = "text/plain; charset=utf-8"
    name: str = ""


class FileContent(msgspec.Struct, frozen=True, gc=False, tag="file", omit_defaults=True):
    """A file of the workspace, by path."""

    path: str
    media_type: str = ""


Content: TypeAlias = TextContent | ImageContent | FileContent | BlobReference


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
