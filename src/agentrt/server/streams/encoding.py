"""`Piece`: something that is sent to a follower, encoded in a frame or as a server-sent event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from ...events import Cursor
from ...frames import Problem

Kind: TypeAlias = Literal["event", "delta", "live", "ended"]

OVERHEAD = 128
"""Bytes that a piece counts for in addition to its own."""

_FIELDS: dict[Kind, bytes] = {"event": b"event", "delta": b"delta", "live": b"cursor", "ended": b"problem"}
"""The field of a frame that has the content of its piece, by kind."""

_encoder = msgspec.json.Encoder()


class Piece(msgspec.Struct, frozen=True, gc=False):
    """Something that is sent to a follower. `data` is JSON, made once for all followers. For an event, it is the bytes
    in the log, and `seq` is set.
    """

    kind: Kind
    data: bytes
    seq: int = 0

    @property
    def size(self) -> int:
        """Its approximate number of bytes on the wire."""
        return len(self.data) + OVERHEAD


def live(cursor: Cursor) -> Piece:
    """Return the piece that says that everything up to the cursor was sent."""
    return Piece("live", _encoder.encode(cursor))


def ended(problem: Problem) -> Piece:
    """Return the piece that says that nothing more follows."""
    return Piece("ended", _encoder.encode(problem))


def frame(piece: Piece, conversation: bytes) -> bytes:
    """Return a frame of a socket; `conversation` is the id as JSON."""
    return b'{"type":"%b","conversation":%b,"%b":%b}' % (
        piece.kind.encode(),
        conversation,
        _FIELDS[piece.kind],
        piece.data,
    )


def message(frames: Iterable[bytes]) -> str:
    """Return frames as one message of a socket."""
    return (b"[" + b",".join(frames) + b"]").decode()


def sent_event(piece: Piece, epoch: int) -> bytes:
    """Return a server-sent event (WHATWG HTML, section 9.2); its id, for an event of the log, is the cursor after it.

    The JSON has no line breaks, so one `data` line holds it.
    """
    place = b"id: %d-%d\n" % (epoch, piece.seq) if piece.kind == "event" else b""
    return b"%bevent: %b\ndata: %b\n\n" % (place, piece.kind.encode(), piece.data)
