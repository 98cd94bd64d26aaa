"""What is asked of a server on the web, what it answered, and how much of that is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

MOST_BYTES = 5 << 20
LONGEST = 30.0
MOST_REDIRECTS = 10


def _any(media_type: str) -> bool:
    return True


class Question(msgspec.Struct, frozen=True):
    """A request. Its headers are shown to no other origin than that of the URL, but for what it accepts."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Bounds(msgspec.Struct, frozen=True):
    """How much an answer may take: bytes as they come and when unpacked, seconds from the look-up of the name to the
    last byte, and redirects.

    `wanted` says by its media type whether a body is read at all.
    """

    most_bytes: int = MOST_BYTES
    seconds: float = LONGEST
    redirects: int = MOST_REDIRECTS
    wanted: Callable[[str], bool] = _any


class Answer(msgspec.Struct, frozen=True):
    """An answer, after redirects; `size` is the length of its body, None where that was not read and not said.

    `media_type` is in lower case and without parameters, "" where none is given; `charset` is as it was given.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    size: int | None
    retry_after: str = ""
