"""Images as content for a model, and the text in them that tesseract recognizes, if it is installed."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

from ...documents.document import Part, Picture
from ...documents.kinds import image_type
from ...errors import ToolError
from ...executing import ToolContext
from ...placing import Place, Rlimits
from ...sandboxes.programs import printed
from ...specs import Content, ImageContent, TextContent
from ..clipping import clip

MOST_SEEN = 5 * 1024 * 1024
"""Maximum bytes of an image that a model is shown."""

_LIMITS = Rlimits(cpu_seconds=30, memory=1 << 30)
_SECONDS = 30.0
_MOST_RECOGNIZED = 1 << 20
"""Limits of text recognition in an image: seconds, and bytes of the text."""


async def recognized(place: Place, data: bytes) -> str | None:
    """Return the text in an image, or None if tesseract is not installed or fails."""
    try:
        said = await printed(
            place,
            ["tesseract", "stdin", "stdout"],
            cwd="/",
            environment={"OMP_THREAD_LIMIT": "1"},
            seconds=_SECONDS,
            most=_MOST_RECOGNIZED,
            given=data,
            limits=_LIMITS,
        )
    except (TimeoutError, OSError):
        return None
    return said.output.decode("utf-8", "replace").strip() if said.code == 0 else None


async def seen(data: bytes, jpeg: bytes, context: ToolContext, most: int) -> list[Content]:
    """Return an image as content for a model, and the text in it, at most `most` characters.

    `jpeg` is the same image encoded anew: tesseract gets this and never the file, which might refer to other files.
    """
    said: list[Content] = []
    if (text := await recognized(context.place, jpeg)) is not None:
        text = context.masked(text, by_line=True) or "[tesseract finds no text in it]"
        said.append(TextContent(f"Text in it, as tesseract reads it:\n{clip(text, most)}"))
    kind = image_type(data)
    said.append(image_of(data, kind) if kind is not None and len(data) <= MOST_SEEN else image_of(jpeg))
    return said


def seeable(path: str, data: bytes) -> ImageContent:
    """Return an image file as content. Raises `ToolError` if models cannot see it: another format, or too large."""
    if (kind := image_type(data)) is None:
        raise ToolError(f"{path} is not an image that a model sees: PNG, JPEG, GIF or WebP")
    if len(data) > MOST_SEEN:
        raise ToolError(f"{path} has {len(data):,} bytes: an image of at most {MOST_SEEN:,} can be seen")
    return image_of(data, kind)


def image_of(data: bytes, kind: str = "image/jpeg") -> ImageContent:
    """Return an image as content."""
    return ImageContent(f"data:{kind};base64,{base64.b64encode(data).decode()}")


def pictures(parts: Sequence[Part]) -> Iterator[Picture]:
    """Yield all pictures of a document, in order."""
    for part in parts:
        yield from part.pictures


def labelled(parts: Sequence[Part]) -> Iterator[Content]:
    """Yield pictures as content for a model, each after a line that says what it shows."""
    for picture in pictures(parts):
        yield TextContent(f"[{picture.label}:]")
        yield image_of(picture.jpeg)
