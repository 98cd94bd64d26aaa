"""How many tokens something has, about: what a view is measured in before a provider has counted it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .content import BlobReference, Content, ImageContent, TextContent, plain

BYTES_A_TOKEN = 4
"""Of prose and code. A provider's own counts correct it: see `Ledger.measure`."""

IMAGE_TOKENS = 1600
"""The most that an image counts for at the usual providers, for the size that they scale it to."""

MESSAGE_TOKENS = 4
"""What a message, or a call, has besides its words."""


def tokens_of(text: str) -> int:
    """About how many tokens a text has."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (size + BYTES_A_TOKEN - 1) // BYTES_A_TOKEN


def content_tokens(content: Iterable[Content]) -> int:
    """About how many tokens a content has, as it is sent."""
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
