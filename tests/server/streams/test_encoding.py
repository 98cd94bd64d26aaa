from __future__ import annotations

import msgspec
import pytest

from agentrt.codec import encode
from agentrt.deltas import Delta
from agentrt.events import Cursor
from agentrt.frames import DeltaFrame, Ended, EventFrame, FromServer, Live, Problem
from agentrt.server.streams.encoding import Piece, ended, frame, live, message, sent_event
from tests import samples

pytestmark = pytest.mark.pure

NAME = b'"c\\"1"'


def decoded(*pieces: Piece) -> list[FromServer]:
    return msgspec.json.decode(message(frame(piece, NAME) for piece in pieces), type=list[FromServer])


def test_pieces_are_the_frames_that_clients_know() -> None:
    (event,) = samples.numbered([samples.message()], 7)
    delta = Delta("e", "text", "two\nlines", 3, 7)
    problem = Problem(title="Gone", status=404)
    piece, grown = Piece("event", encode(event), 7), Piece("delta", msgspec.json.encode(delta))
    made = decoded(piece, grown, live(Cursor(1, 7)), ended(problem))
    assert made == [
        EventFrame(conversation='c"1', event=msgspec.Raw(encode(event))),
        DeltaFrame(conversation='c"1', delta=msgspec.Raw(msgspec.json.encode(delta))),
        Live(conversation='c"1', cursor=Cursor(1, 7)),
        Ended(conversation='c"1', problem=problem),
    ]


def test_server_sent_events_have_the_cursor_as_their_id_and_one_line_of_data() -> None:
    (event,) = samples.numbered([samples.message()], 7)
    assert sent_event(Piece("event", encode(event), 7), 2) == b"id: 2-7\nevent: event\ndata: " + encode(event) + b"\n\n"
    delta = Piece("delta", msgspec.json.encode(Delta("e", "text", "two\nlines", 3, 7)))
    assert sent_event(delta, 2).startswith(b"event: delta\ndata: ")
    assert sent_event(delta, 2).count(b"\n") == 3
