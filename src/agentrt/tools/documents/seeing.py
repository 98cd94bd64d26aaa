"""Images for a model: as it sees them, and the text in them as tesseract reads it where that is installed."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Sequence

from ...documents.document import Part, Picture
from ...documents.kinds import image_type
from ...errors import ToolError
from ...executing import ToolContext
from ...sandboxes.programs import printed
from ...specs import Content, ImageContent, TextContent
from ..clipping import clip

MOST_SEEN = 5 * 1024 * 1024
"""Bytes of the largest image that a model is shown."""

_RECOGNIZE = "ulimit -v 1048576; ulimit -t 30; exec tesseract stdin stdout"
_SECONDS = 30.0
_MOST_RECOGNIZED = 1 << 20
"""Seconds for the recognition of text in an image, and bytes of that."""


async def recognized(data: bytes) -> str | None:
    """The text in an image; None where there is no tesseract, or it cannot tell."""
    if shutil.which("tesseract") is None:
        return None
    try:
        said = await printed(
            ["/bin/sh", "-c", _RECOGNIZE],
            cwd="/",
            environment={"OMP_THREAD_LIMIT": "1"},
            seconds=_SECONDS,
            most=_MOST_RECOGNIZED,
            given=data,
        )
    except (TimeoutError, OSError):
        return None
    return said.output.decode("utf-8", "replace").strip() if said.code == 0 else None


async def seen(data: bytes, jpeg: bytes, context: ToolContext, most: int) -> list[Content]:
    """An image as a model sees it, and the text in it, of at most so many characters.

    `jpeg` is the same made anew: another program is given that and never the file, which might name others.
    """
    said: list[Content] = []
    if (text := await recognized(jpeg)) is not None:
        text = context.masked(text, by_line=True) or "[tesseract finds no text in it]"
        said.append(TextContent(f"Text in it, as tesseract reads it:\n{clip(text, most)}"))
    kind = image_type(data)
    said.append(image_of(data, kind) if kind is not None and len(data) <= MOST_SEEN else image_of(jpeg))
    return said


def seeable(path: str, data: bytes) -> ImageContent:
    """An image that a model is asked about. Raises `ToolError` for what none sees."""
    if (kind := image_type(data)) is None:
        raise ToolError(f"{path} is no image that a model sees: PNG, JPEG, GIF or WebP")
    if len(data) > MOST_SEEN:
        raise ToolError(f"{path} has {len(data):,} bytes: an image of at most {MOST_SEEN:,} can be seen")
    return image_of(data, kind)


def image_of(data: bytes, kind: str = "image/jpeg") -> ImageContent:
    """An image as content."""
    return ImageContent(f"data:{kind};base64,{base64.b64encode(data).decode()}")


def pictures(parts: Sequence[Part]) -> Iterator[Picture]:
    """All pictures of a document, in their order."""
    for part in parts:
        yield from part.pictures


def labelled(parts: Sequence[Part]) -> Iterator[Content]:
    """Pictures as a model sees them, each under a line that says of what it is."""
    for picture in pictures(parts):
        yield TextContent(f"[{picture.label}:]")
        yield image_of(picture.jpeg)
