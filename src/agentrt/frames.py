"""The frames of a socket between a server and those who follow its conversations.

A message of the socket is a JSON array of frames, so that what waits is sent at once. A follower names the cursor that
it has and gets every event after it, once and in order; deltas come in between.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .controls import AnyControl
from .events import Cursor


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, as problem details (RFC 9457); `code` is one of ours and does not change.

    `data` holds what that error carries, by name: those of its attributes that a client may be told.
    """

    title: str
    status: int
    detail: str = ""
    code: str = ""
    type: str = "about:blank"
    instance: str = ""
    data: dict[str, str | int | float | tuple[str, ...]] = {}


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all frames."""


class Follow(Frame, frozen=True, tag="follow"):
    """To the server: send the events of a conversation after a cursor."""

    conversation: str
    after: Cursor = Cursor()
    deltas: bool = True


class Unfollow(Frame, frozen=True, tag="unfollow"):
    """To the server: send no more of a conversation."""

    conversation: str


class Do(Frame, frozen=True, tag="do"):
    """To the server: a control; it is answered by an `Ack` or a `Refused` with the same `id`."""

    id: str
    conversation: str
    control: AnyControl


class Alive(Frame, frozen=True, tag="alive"):
    """To the server: the answer to a `Heartbeat`."""


class EventFrame(Frame, frozen=True, tag="event"):
    """From the server: an event, as it stands in the log."""

    conversation: str
    event: msgspec.Raw


class DeltaFrame(Frame, frozen=True, tag="delta"):
    """From the server: a `Delta`, void once its event is there."""

    conversation: str
    delta: msgspec.Raw


class Live(Frame, frozen=True, tag="live"):
    """From the server: everything up to this cursor was sent, and what comes is new."""

    conversation: str
    cursor: Cursor


class Ended(Frame, frozen=True, tag="ended"):
    """From the server: nothing more comes of a conversation, and why."""

    conversation: str
    problem: Problem


class Ack(Frame, frozen=True, tag="ack"):
    """From the server: a control was carried out, with its reply."""

    id: str
    reply: msgspec.Raw


class Refused(Frame, frozen=True, tag="refused"):
    """From the server: a control, or a frame that makes no sense, was not carried out."""

    problem: Problem
    id: str = ""


class Heartbeat(Frame, frozen=True, tag="heartbeat"):
    """From the server, when there was nothing else: to be answered with `Alive`."""


ToServer: TypeAlias = Follow | Unfollow | Do | Alive
FromServer: TypeAlias = EventFrame | DeltaFrame | Live | Ended | Ack | Refused | Heartbeat
