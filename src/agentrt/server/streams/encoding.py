"""`Piece`: something that a follower is sent, and its two spellings: in a frame, and as a server-sent event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from ...events import Cursor
from ...frames import Problem

Kind: TypeAlias = Literal["event", "delta", "live", "ended"]

OVERHEAD = 128
"""Bytes that a piece counts for on top of its own."""

_FIELDS: dict[Kind, bytes] = {"event": b"event", "delta": b"delta", "live": b"cursor", "ended": b"problem"}
"""In which field of its frame the content of a piece stands."""

_encoder = msgspec.json.Encoder()


class Piece(msgspec.Struct, frozen=True, gc=False):
    """Something that a follower is sent; `data` is JSON, made once for all followers. An event has a `seq`, and the
    bytes of its line in the log.
    """

    kind: Kind
    data: bytes
    seq: int = 0

    @property
    def size(self) -> int:
        """About how many bytes it takes on the wire."""
        return len(self.data) + OVERHEAD


def live(cursor: Cursor) -> Piece:
    """Everything up to the cursor was sent."""
    return Piece("live", _encoder.encode(cursor))


def ended(problem: Problem) -> Piece:
    """Nothing more comes."""
    return Piece("ended", _encoder.encode(problem))


def frame(piece: Piece, conversation: bytes) -> bytes:
    """A frame of a socket; `conversation` is the id as JSON."""
    return b'{"type":"%b","conversation":%b,"%b":%b}' % (
        piece.kind.encode(),
        conversation,
        _FIELDS[piece.kind],
        piece.data,
    )


def message(frames: Iterable[bytes]) -> str:
    """Frames as one message of a socket."""
    return (b"[" + b",".join(frames) + b"]").decode()


def sent_event(piece: Piece, epoch: int) -> bytes:
    """A server-sent event (WHATWG HTML, section 9.2); an event of the log has the cursor after it as its id.

    JSON as it is made here has no line breaks, so one `data` line holds it.
    """
    place = b"id: %d-%d\n" % (epoch, piece.seq) if piece.kind == "event" else b""
    return b"%bevent: %b\ndata: %b\n\n" % (place, piece.kind.encode(), piece.data)
