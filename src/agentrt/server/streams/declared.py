"""The streams of a server, declared once for their routes and for the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.datastructures import QueryParams

from ...events import Cursor
from ..problems import refusal
from ..schemas import EventsQuery

PATH = "/conversations/{id}/events"

_CURSOR = "^([0-9]{1,18}-)?[0-9]{1,18}$"


class FollowQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The cursor from which a stream begins, and its content."""

    after: Annotated[str, Meta(pattern=_CURSOR)] = "0"
    """Only events after this cursor: SEQ, or EPOCH-SEQ."""
    epoch: Annotated[int, Meta(ge=0)] = 0
    """The epoch of `after`, if that is only SEQ. If the log has another one, the cursor has expired: events that were
    seen may be gone.
    """
    deltas: bool = True
    """Whether deltas, the pieces of unfinished events, are sent, too."""

    @property
    def cursor(self) -> Cursor:
        """The cursor."""
        return Cursor.parse(self.after, self.epoch)


_OF_PAGES = frozenset(EventsQuery.__struct_encode_fields__) - frozenset(FollowQuery.__struct_encode_fields__)
"""Parameters of a page of events that a stream does not have."""


def follow_query(given: QueryParams, last_event_id: str | None) -> FollowQuery:
    """Return the parameters of a request for a stream; the last event's id replaces `after`. Raises `Refusal`."""
    if unfit := sorted(_OF_PAGES & set(given)):
        detail = f"a stream has every event: {', '.join(unfit)} choose those of a page"
        raise refusal(422, "Not a parameter of a stream", detail, "validation")
    values = {name: given[name] for name in FollowQuery.__struct_encode_fields__ if given.get(name)}
    if last_event_id:
        values["after"] = last_event_id
    try:
        return msgspec.convert(values, FollowQuery, strict=False)
    except msgspec.ValidationError as error:
        detail = f"give after=SEQ, with epoch=EPOCH or as EPOCH-SEQ: {error}"
        raise refusal(422, "The cursor is not valid", detail, "validation") from error


def is_event_stream(path: str, accept: str) -> bool:
    """Return whether a GET of a path, with a header Accept, asks for server-sent events."""
    return path.endswith("/events/stream") or "text/event-stream" in accept.lower()


@dataclass(frozen=True, slots=True)
class Stream:
    """A way to follow conversations: a WebSocket, or else server-sent events at a path of their own."""

    path: str
    description: str
    socket: bool = True
    headers: tuple[str, ...] = ()
    """Request headers that the stream uses."""


ONE = Stream(
    PATH,
    "With an upgrade to a WebSocket (RFC 6455): follows this conversation from a cursor on, and carries out controls."
    " A message is a JSON array of frames, in both directions.",
)
SEVERAL = Stream(
    "/events",
    "A WebSocket (RFC 6455) that follows the conversations that it is told to, and carries out controls. A message is a"
    " JSON array of frames, in both directions.",
)
EVENTS = Stream(
    f"{PATH}/stream",
    "Server-sent events from a cursor on, as at the path of the events with `Accept: text/event-stream`. A client that"
    " lost its connection goes on from the last event that it got.",
    socket=False,
    headers=("Last-Event-ID",),
)

STREAMS = (ONE, SEVERAL, EVENTS)
