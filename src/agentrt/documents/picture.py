"""Images: what they are, by Pillow. Their pixels are decoded once, so that one that is cut off is told."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import TYPE_CHECKING

from .document import DAMAGED, Unreadable
from .selecting import Texts

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

QUALITY = 80
"""Of a JPEG that is made for a model, in percent."""


def jpeg(pixels: Pixels) -> bytes:
    """An image as a JPEG that a model sees."""
    data = BytesIO()
    pixels.convert("RGB").save(data, "JPEG", quality=QUALITY)
    return data.getvalue()


def picture(data: bytes) -> Texts:
    """The format and size of an image. Raises `Unreadable`."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(BytesIO(data)) as image:
                frames = getattr(image, "n_frames", 1)
                said = f"{image.format} image, {image.width} × {image.height} pixels"
                image.load()
        except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
            raise Unreadable("has more than 89 million pixels: refused") from error
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
            raise Unreadable(DAMAGED) from error
    return Texts("image", "image", (("", said if frames == 1 else f"{said}, {frames} frames"),))
