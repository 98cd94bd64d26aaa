"""Decodes a client's messages on a socket into frames, or into refusals."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...frames import Problem, Refused, ToServer
from ...specs.shorthand import decode_short

_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of decoding; `RecursionError` if the JSON is nested too deep."""

MOST = 256
"""Maximum number of frames in a message."""


class _Named(msgspec.Struct, frozen=True):
    id: str = ""


_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_frames: msgspec.json.Decoder[ToServer] = msgspec.json.Decoder(ToServer)
_named = msgspec.json.Decoder(_Named)


def frames_of(message: str | bytes) -> Iterator[ToServer | Refused]:
    """Yield the frames of a message, in order; for an invalid frame, the answer that it gets."""
    try:
        raws = _arrays.decode(message)
    except _BROKEN as error:
        yield _refused(f"a message is a JSON array of frames: {error}")
        return
    if len(raws) > MOST:
        yield _refused(f"a message has at most {MOST} frames")
        return
    for raw in raws:
        try:
            yield decode_short(raw, ToServer, _frames.decode)
        except _BROKEN as error:
            yield _refused(str(error), _id(raw))


def _refused(why: str, id: str = "") -> Refused:
    return Refused(id=id, problem=Problem(title="Not a frame", status=400, detail=why, code="frame"))


def _id(raw: msgspec.Raw) -> str:
    try:
        return _named.decode(raw).id
    except _BROKEN:
        return ""
