"""Estimates of token counts, used for a view until a provider has counted it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .content import BlobReference, Content, ImageContent, TextContent, plain

BYTES_A_TOKEN = 4
"""For prose and code. A provider's own counts correct it: see `Ledger.measure`."""

IMAGE_TOKENS = 1600
"""The most tokens of an image at the usual providers, at the size to which they scale it."""

MESSAGE_TOKENS = 4
"""Tokens of a message, or a call, besides its words."""


def tokens_of(text: str) -> int:
    """Return the approximate number of tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (size + BYTES_A_TOKEN - 1) // BYTES_A_TOKEN


def content_tokens(content: Iterable[Content]) -> int:
    """Return the approximate number of tokens of content as it is sent."""
    tokens = 0
    for block in content:
        match block:
            case TextContent(text):
                tokens += tokens_of(text)
            case ImageContent():
                tokens += IMAGE_TOKENS
            case BlobReference(media_type=kind) if kind.startswith("image/"):
                tokens += IMAGE_TOKENS
            case _:
                tokens += tokens_of(plain((block,)))
    return tokens
