"""The frames of a WebSocket between a server and the clients that follow its conversations.

A message of the socket is a JSON array of frames, so that all waiting frames are sent at once. A client names its
cursor and gets every event after it, once and in order; deltas come in between.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .controls import AnyControl
from .events import Cursor


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as problem details (RFC 9457); `code` is specific to agentrt and stable.

    `data` holds the error's attributes by name, as far as a client may see them.
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
    """From the client: send the events of a conversation after a cursor."""

    conversation: str
    after: Cursor = Cursor()
    deltas: bool = True


class Unfollow(Frame, frozen=True, tag="unfollow"):
    """From the client: send no more of a conversation."""

    conversation: str


class Do(Frame, frozen=True, tag="do"):
    """From the client: a control. It is answered by an `Ack` or a `Refused` with the same `id`."""

    id: str
    conversation: str
    control: AnyControl


class Alive(Frame, frozen=True, tag="alive"):
    """From the client: the answer to a `Heartbeat`."""


class EventFrame(Frame, frozen=True, tag="event"):
    """From the server: an event, as it is in the log."""

    conversation: str
    event: msgspec.Raw


class DeltaFrame(Frame, frozen=True, tag="delta"):
    """From the server: a `Delta`, void once its event has arrived."""

    conversation: str
    delta: msgspec.Raw


class Live(Frame, frozen=True, tag="live"):
    """From the server: everything up to this cursor was sent, and later events are new."""

    conversation: str
    cursor: Cursor


class Ended(Frame, frozen=True, tag="ended"):
    """From the server: nothing more follows of a conversation; `problem` says why."""

    conversation: str
    problem: Problem


class Ack(Frame, frozen=True, tag="ack"):
    """From the server: a control was carried out, with its reply."""

    id: str
    reply: msgspec.Raw


class Refused(Frame, frozen=True, tag="refused"):
    """From the server: a control, or an invalid frame, was refused."""

    problem: Problem
    id: str = ""


class Heartbeat(Frame, frozen=True, tag="heartbeat"):
    """From the server, when there was nothing else to send; to be answered with `Alive`."""


ToServer: TypeAlias = Follow | Unfollow | Do | Alive
FromServer: TypeAlias = EventFrame | DeltaFrame | Live | Ended | Ack | Refused | Heartbeat
