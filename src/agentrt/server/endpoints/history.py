"""REST operations on the history of a conversation: its events, its state after any event, and its blobs."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from msgspec.structs import replace
from starlette.responses import Response

from ...codec import decode
from ...errors import LogCorrupt
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

NEWEST = Wanted(0, 1 << 62, backwards=True)

COUNTED = 10 * SCANNED
"""Maximum number of records that are examined for one count."""


async def list_events(call: Call[None, EventsQuery]) -> EventPage:
    """Return the events that match the query, in the order of the log or backwards.

    A cursor of another epoch, or after the end, has expired (410): events that were seen may be gone. Of a damaged log,
    the intact events are returned, with the gaps between them.
    """
    wanted, state = call.query, await _end(call)
    these = _wanted(wanted, state, backwards=wanted.order == "desc")
    page = await call.services.runtime.store.history(call.named()).page(these, wanted.limit)
    return EventPage(page.events, page.next, Cursor(state.epoch, state.seq), page.gaps)


async def count_events_of(call: Call[None, EventsCountQuery]) -> EventCount:
    """Return the number of events that match the query.

    A count by type, source, time or text examines at most 100,000 records, or 640 MiB of them. The rest can be counted
    from `next` on.
    """
    state = await _end(call)
    these = _wanted(call.query, state)
    history = call.services.runtime.store.history(call.named())
    further: int | None = these.after
    count, looks = 0, COUNTED // SCANNED
    while further is not None and looks and not await call.request.is_disconnected():
        found = await history.count(replace(these, after=further))
        count, further, looks = count + found.count, found.next, looks - 1
    return EventCount(count, further, Cursor(state.epoch, state.seq))


async def _end(call: Call[Any, Any]) -> State:
    """Return the state at the end of the log. Of a damaged log, only its epoch and the seq of its last intact event.

    Raises `LogCorrupt` if no event is intact.
    """
    try:
        return (await call.reading()).state
    except LogCorrupt as corrupt:
        history = call.services.runtime.store.history(call.named())
        before = await history.state(corrupt.after) if corrupt.after else State()
        newest = await history.page(NEWEST, 1)
        if not newest.events:
            raise
        return State(seq=decode(bytes(newest.events[0])).seq, epoch=before.epoch)


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
    state, seq = await _end(call), int(call.path("seq"))
    found = None
    if 1 <= seq <= state.seq:
        found = await call.services.runtime.store.history(call.named()).event(seq)
    if found is None:
        why = "it is damaged" if 1 <= seq <= state.seq else f"the log ends with event {state.seq}"
        raise refusal(404, "No such event", why, "event-missing")
    return Response(found, media_type="application/json")


async def get_state(call: Call[None, StateQuery]) -> StateInfo:
    """Return the state of the conversation after an event, or now: a fold of the log up to there.

    Of a damaged log there is a state only after events before the damage.
    """
    at, history = call.query.at, call.services.runtime.store.history(call.named())
    try:
        state = (await call.reading()).state
    except LogCorrupt as corrupt:
        if at is None or not corrupt.after or at > corrupt.after:
            raise
        state = await history.state(corrupt.after)
    if at is not None:
        seq_of(Cursor(call.query.epoch, at), state)
    if state.created is None or (at is not None and at != state.seq):
        state = await history.state(state.seq if at is None else at)
    return state_info(state)


async def get_blob(call: Call[None, None]) -> Response:
    """Return the bytes that an event refers to, such as the whole of an output that was cut."""
    await _end(call)
    sha256 = call.path("sha256")
    data = await call.services.runtime.store.history(call.named()).fetch(sha256)
    if data is None:
        raise refusal(404, "No such blob", "no event of this conversation refers to it", "blob-missing")
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
