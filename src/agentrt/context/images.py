"""Images in messages: where they may stand, and what replaces them for a model without vision. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count

from msgspec.structs import replace

from ..specs import BlobReference, Content, ImageContent, TextContent, ToolDefinition
from .messages import Message


def is_image(block: Content) -> bool:
    """Return whether a block is an image, given as a URL or kept as a blob."""
    return isinstance(block, ImageContent) or (
        isinstance(block, BlobReference) and block.media_type.startswith("image/")
    )


def image_blobs(messages: Iterable[Message]) -> dict[str, BlobReference]:
    """Return the blobs that are images, by their hash."""
    found = (block for message in messages for block in message.content)
    return {block.sha256: block for block in found if isinstance(block, BlobReference) and is_image(block)}


def with_blobs(messages: Iterable[Message], blobs: Mapping[str, bytes]) -> list[Message]:
    """Return the messages with their image blobs as images, given the bytes by hash; it copies much data."""

    def whole(block: Content) -> Content:
        if isinstance(block, BlobReference) and block.sha256 in blobs:
            return ImageContent(f"data:{block.media_type};base64,{b64encode(blobs[block.sha256]).decode()}")
        return block

    return [_mapped(message, whole) for message in messages]


def without_images(messages: Iterable[Message], model: str, tools: Iterable[ToolDefinition] = ()) -> list[Message]:
    """Return the messages for a model without vision: a note replaces each image, with the image's number (from 1) if
    the model has a tool that looks at images.
    """
    numbers = count(1)
    looks = next((tool.name for tool in tools if tool.looks), None)
    otherwise = f"Ask about it with {looks}" if looks else "Say so if it matters, or find out in another way"

    def unseen(block: Content) -> Content:
        if not is_image(block):
            return block
        which = f"Image {next(numbers)}" if looks else "An image"
        return TextContent(f"[{which}, which {model} cannot see. {otherwise}.]")

    return [_mapped(message, unseen) for message in messages]


def after_results(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with the images of results moved into a user message after these results.

    Some providers accept only text in a result, and all require that results directly follow their calls.
    """
    moved: list[Message] = []
    waiting: list[Content] = []
    for message in messages:
        if message.role != "tool" and waiting:
            moved.append(Message("user", tuple(waiting)))
            waiting = []
        if message.role == "tool" and any(map(is_image, message.content)):
            waiting += [TextContent("[The image of the result above:]"), *filter(is_image, message.content)]
            kept = tuple(block for block in message.content if not is_image(block))
            message = replace(message, content=kept or (TextContent("[An image; it follows below.]"),))
        moved.append(message)
    return [*moved, Message("user", tuple(waiting))] if waiting else moved


def has_images(messages: Sequence[Message]) -> bool:
    """Return whether there is any image."""
    return any(is_image(block) for message in messages for block in message.content)


def _mapped(message: Message, change: Callable[[Content], Content]) -> Message:
    if not any(map(is_image, message.content)):
        return message
    return replace(message, content=tuple(map(change, message.content)))
