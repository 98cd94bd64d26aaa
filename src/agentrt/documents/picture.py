"""Images, read by Pillow. Their pixels are decoded once, so that a truncated file is detected."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .document import DAMAGED, Part, Picture, Unreadable, Wanted

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

QUALITY = 80
"""Quality in percent of a JPEG that is made for a model."""


def jpeg(pixels: Pixels) -> bytes:
    """Return an image as a JPEG for a model."""
    data = BytesIO()
    pixels.convert("RGB").save(data, "JPEG", quality=QUALITY)
    return data.getvalue()


LONGEST_SIDE = 4_000
"""Maximum pixels of the longer side of an image that is made for a model or for text recognition."""


class Image:
    """A `Source` of one part: the format and size of an image, and its content as a JPEG. Raises `Unreadable`."""

    kind, unit, title = "image", "image", ""
    names: Sequence[str] = ("",)
    notes: tuple[str, ...] = ()

    def __init__(self, data: bytes) -> None:
        from PIL import Image, UnidentifiedImageError

        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            try:
                with Image.open(BytesIO(data)) as image:
                    frames = getattr(image, "n_frames", 1)
                    said = f"{image.format} image, {image.width} × {image.height} pixels"
                    image.load()
                    self._pixels = image.copy()
            except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
                raise Unreadable("has more than 89 million pixels: refused") from error
            except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
                raise Unreadable(DAMAGED) from error
        self._said = said if frames == 1 else f"{said}, {frames} frames"

    def text(self, index: int) -> str:
        """Return the format and size."""
        return self._said

    def plain(self, index: int) -> str:
        return self._said

    def perceived(self, parts: Sequence[Part], wanted: Wanted) -> Sequence[Part]:
        """Return the part with the image, re-encoded so that nothing else in the file reaches another program."""
        pixels = self._pixels
        if max(pixels.size) > LONGEST_SIDE:
            pixels.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        try:
            made = jpeg(pixels)
        except (OSError, ValueError) as error:
            raise Unreadable(DAMAGED) from error
        return [replace(part, pictures=(Picture("image", made),)) for part in parts]
