"""REST operations on the history of a conversation: its events, its state after any event, and its blobs."""

from __future__ import annotations

import anyio.to_thread
from msgspec.structs import replace
from starlette.responses import Response

from ...events import Cursor
from ...state import State, check_epoch, seq_of
from ...storing import SCANNED, Wanted
from ..describing import state_info
from ..principals import Scope
from ..problems import refusal
from ..routing import Call, Endpoint
from ..schemas import (
    COUNT,
    EventCount,
    EventJSON,
    EventPage,
    EventsCountQuery,
    EventsQuery,
    StateInfo,
    StateQuery,
)
from ..sending import shown_as

COUNTED = 10 * SCANNED
"""Maximum number of records that are examined for one count."""


async def list_events(call: Call[None, EventsQuery]) -> EventPage:
    """Return the events that match the query, in the order of the log or backwards.

    A cursor of another epoch, or after the end, has expired (410): events that were seen may be gone.
    """
    wanted, conversation = call.query, await call.conversation()
    state = conversation.state
    these = _wanted(wanted, state, backwards=wanted.order == "desc")
    page = await call.services.runtime.store.history(conversation.id).page(these, wanted.limit)
    return EventPage(page.events, page.next, Cursor(state.epoch, state.seq))


async def count_events_of(call: Call[None, EventsCountQuery]) -> EventCount:
    """Return the number of events that match the query.

    A count by type, source, time or text examines at most 100,000 records, or 640 MiB of them. The rest can be counted
    from `next` on.
    """
    conversation = await call.conversation()
    state = conversation.state
    these = _wanted(call.query, state)
    history = call.services.runtime.store.history(conversation.id)
    further: int | None = these.after
    count, looks = 0, COUNTED // SCANNED
    while further is not None and looks and not await call.request.is_disconnected():
        found = await history.count(replace(these, after=further))
        count, further, looks = count + found.count, found.next, looks - 1
    return EventCount(count, further, Cursor(state.epoch, state.seq))


def _wanted(query: EventsCountQuery, state: State, *, backwards: bool = False) -> Wanted:
    """Return a query as a filter of events. Raises `CursorExpired`."""
    seq_of(Cursor(query.epoch, query.after), state)
    check_epoch(Cursor(query.epoch, query.before or 0), state)
    return Wanted(
        query.after,
        state.seq + 1 if query.before is None else min(query.before, state.seq + 1),
        backwards,
        frozenset(query.type),
        query.source,
        query.since,
        query.until,
        query.text,
    )


async def get_event(call: Call[None, None]) -> Response:
    """Return one event, as it is in the log."""
    conversation, seq = await call.conversation(), int(call.path("seq"))
    found = None
    if 1 <= seq <= conversation.state.seq:
        found = await call.services.runtime.store.history(conversation.id).event(seq)
    if found is None:
        raise refusal(404, "No such event", f"the log ends with event {conversation.state.seq}", "event-missing")
    return Response(found, media_type="application/json")


async def get_state(call: Call[None, StateQuery]) -> StateInfo:
    """Return the state of the conversation after an event, or now: a fold of the log up to there."""
    conversation, at = await call.conversation(), call.query.at
    state = conversation.state
    if at is not None:
        seq_of(Cursor(call.query.epoch, at), state)
    if state.created is None or (at is not None and at != state.seq):
        state = await call.services.runtime.store.history(conversation.id).state(state.seq if at is None else at)
    return state_info(state)


async def get_blob(call: Call[None, None]) -> Response:
    """Return the bytes that an event refers to, such as the whole of an output that was cut."""
    conversation, sha256 = await call.conversation(), call.path("sha256")
    data = await call.services.runtime.store.history(conversation.id).fetch(sha256)
    if data is None:
        raise refusal(404, "No such blob", "no event of this conversation names it", "blob-missing")
    kind = "text/plain; charset=utf-8" if await anyio.to_thread.run_sync(_is_text, data) else "application/octet-stream"
    return Response(data, headers={**shown_as(sha256, kind), "ETag": f'"{sha256}"'})


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


_GROUP = "history"
_BASE = "/conversations/{id}"

ENDPOINTS = (
    Endpoint(
        "GET",
        f"{_BASE}/events",
        list_events,
        Scope.OBSERVE,
        "Read events",
        query=EventsQuery,
        reply=EventPage,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/events/{COUNT}",
        count_events_of,
        Scope.OBSERVE,
        "Count events",
        query=EventsCountQuery,
        reply=EventCount,
        group=_GROUP,
        id="count_events",
    ),
    Endpoint(
        "GET",
        f"{_BASE}/events/{{seq:int}}",
        get_event,
        Scope.OBSERVE,
        "Read an event",
        reply=EventJSON,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/state",
        get_state,
        Scope.OBSERVE,
        "The state at any place",
        query=StateQuery,
        reply=StateInfo,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/blobs/{{sha256}}",
        get_blob,
        Scope.OBSERVE,
        "Read a blob",
        media_type=None,
        group=_GROUP,
    ),
)
