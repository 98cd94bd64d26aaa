"""The streams of a server, declared once: the routes that serve them and the OpenAPI document read the same lines."""

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

_CURSOR = "^([0-9]+-)?[0-9]+$"


class FollowQuery(msgspec.Struct, frozen=True, kw_only=True):
    """From which place on, and what."""

    after: Annotated[str, Meta(pattern=_CURSOR)] = "0"
    """A place in the log: SEQ, or EPOCH-SEQ."""
    epoch: Annotated[int, Meta(ge=0)] = 0
    """That of `after`, where it has none: another one means that what was seen may be gone."""
    deltas: bool = True
    """Whether what is still growing comes, too."""

    @property
    def cursor(self) -> Cursor:
        """The place."""
        return Cursor.parse(self.after, self.epoch)


_OF_PAGES = frozenset(EventsQuery.__struct_encode_fields__) - frozenset(FollowQuery.__struct_encode_fields__)
"""What a request for a page of events may say, and one for a stream may not."""


def follow_query(given: QueryParams, last_event_id: str | None) -> FollowQuery:
    """What a request for a stream says; the id of an event that came goes before `after`. Raises `Refusal`."""
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


@dataclass(frozen=True, slots=True)
class Stream:
    """A way to follow conversations: a WebSocket, or else server-sent events."""

    path: str
    description: str
    socket: bool = True
    headers: tuple[str, ...] = ()
    """Of the request, that mean something here."""


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
    PATH,
    "With `Accept: text/event-stream`: follows this conversation from a cursor on. The parameters are these then.",
    socket=False,
    headers=("Last-Event-ID",),
)

STREAMS = (ONE, SEVERAL, EVENTS)
