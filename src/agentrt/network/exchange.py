"""`Question`: a web request; `Answer`: its answer; `Bounds`: the limits of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

MOST_BYTES = 5 << 20
LONGEST = 30.0
MOST_REDIRECTS = 10


def _any(media_type: str) -> bool:
    return True


class Question(msgspec.Struct, frozen=True):
    """A request. Of its headers, another origin gets only `Accept`, `Accept-Language` and `Content-Type`."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Bounds(msgspec.Struct, frozen=True):
    """Limits of an answer: its bytes, packed and unpacked; the seconds from the look-up of the name to the last byte;
    and redirects.

    `wanted` decides by the media type whether a body is read at all; that of an error always is.
    """

    most_bytes: int = MOST_BYTES
    seconds: float = LONGEST
    redirects: int = MOST_REDIRECTS
    wanted: Callable[[str], bool] = _any


class Answer(msgspec.Struct, frozen=True):
    """An answer, after redirects. `size` is the length of its body, None if it was neither read nor declared.

    `media_type` is in lower case and without parameters, "" if none is given; `charset` is as it was given.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    size: int | None
    retry_after: str = ""
