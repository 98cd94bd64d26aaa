"""Content blocks of messages and observations."""

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
    """A reference to bytes stored beside the log, by their SHA-256 (64 hex digits); `size` in bytes."""

    sha256: str
    size: int
    media_type: str = TEXT
    name: str = ""
    path: str = ""
    """The file with the same text, without secrets, that the agent's tools can read; "": there is none."""
    lines: int = 0
    """Number of lines of that file."""


class FileContent(msgspec.Struct, frozen=True, gc=False, tag="file", omit_defaults=True):
    """A file of the workspace, by path."""

    path: str
    media_type: str = ""


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """A provider's own record of the reasoning of `model`: a JSON array of its blocks, perhaps signed or encrypted.

    It is sent back unchanged, and only to that model.
    """

    model: str
    blocks: msgspec.Raw


Content: TypeAlias = TextContent | ImageContent | FileContent | BlobReference


def sound(text: str) -> str:
    """Return the text in a storable form: split surrogate pairs are joined, single surrogates replaced."""
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def without_nul(text: str) -> str:
    """Return a text with the symbol for NUL in place of each NUL, which providers and databases refuse."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def tail(text: str, most: int, before: int = 0) -> str:
    """Return the last `most` characters of a text, after a line that says how many were before them; `before` are
    missing already.
    """
    left_out = before + max(0, len(text) - most)
    return f"[{left_out:,} characters before this are left out]\n{text[-most:]}" if left_out else text


def text(*parts: str) -> tuple[Content, ...]:
    """Return a content list with one text block for each part."""
    return tuple(TextContent(part) for part in parts)


def plain(content: Iterable[Content]) -> str:
    """Return the text of a content list; other blocks become a short description in brackets."""
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
                pieces.append(_told(block))
    return "\n".join(pieces)


def whole_in(path: str, size: int, lines: int) -> str:
    """Return the note that names the file with the whole of a shortened text."""
    return (
        f"[all of it, {size:,} bytes in {lines:,} lines, is in {path}: search that file, or read the lines that matter]"
    )


def _told(blob: BlobReference) -> str:
    if blob.path:
        return whole_in(blob.path, blob.size, blob.lines)
    return f"[{blob.name or 'full output'}: {blob.size:,} bytes, kept for the user]"
