"""`Row`: a conversation on a line of a list, made from its log or its state."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from ..errors import LogError
from ..events import Event, MessageEvent
from ..specs.content import plain
from ..specs.llm import named
from ..state import State, apply
from .reading import read_log

DAMAGED = "damaged"
"""The status of a conversation whose log cannot be read."""

RUNNING = "running"
CRASHED = "crashed"
"""The status of a conversation that was running when its process died: nobody has it open."""

TITLE = 200
"""Characters of a title at most."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Mark(msgspec.Struct, frozen=True):
    """A place in the list, for the page after it."""

    updated: datetime
    id: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it stood when its log, of so many `bytes`, was last `updated`.

    `status` is that of the fold, `CRASHED` or `DAMAGED`; `cost` in USD, without the `unpriced` calls; `events` is the
    last seq; `title` the one that it was given, else the first line that a user wrote; `parent` the id of the
    conversation that this one comes from; `workspace` a path.
    """

    id: str
    updated: datetime
    bytes: int
    created: datetime | None = None
    status: str = DAMAGED
    title: str = ""
    model: str = ""
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0
    events: int = 0
    parent: str | None = None
    tags: dict[str, str] = {}
    owner: str | None = None
    workspace: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    delegated_by: str | None = None
    """The conversation that this one works for."""

    @property
    def mark(self) -> Mark:
        """Its place in the list."""
        return Mark(self.updated, self.id)


class Wanted(msgspec.Struct, frozen=True):
    """Which rows are asked for: those of a status, of an owner, with these tags, and with `query` in title or id."""

    status: str | None = None
    owner: str | None = None
    query: str = ""
    tags: dict[str, str] = {}

    @property
    def parameters(self) -> dict[str, Any]:
        """The same for a query in SQL."""
        tags = msgspec.json.encode(self.tags).decode()
        return msgspec.structs.asdict(self) | {"query": self.query.casefold(), "tags": tags}

    def fits(self, row: Row) -> bool:
        """Whether a row is asked for."""
        query = self.query.casefold()
        return (
            self.status in (None, row.status)
            and self.owner in (None, row.owner)
            and (query in row.title.casefold() or query in row.id.casefold())
            and self.tags.items() <= row.tags.items()
        )


def row_of(name: str, updated: datetime, size: int, state: State, task: str) -> Row:
    """The row of a conversation in a state; `task` is its title where it was given none."""
    ledger, created = state.ledger, state.created
    return Row(
        id=name,
        updated=updated,
        bytes=size,
        created=None if created is None else created.timestamp,
        status=state.status.value,
        title=ledger.title[:TITLE] or task,
        model="" if state.agent is None else named(state.agent.llm),
        calls=ledger.commands,
        cost=ledger.cost,
        unpriced=ledger.unpriced,
        events=state.seq,
        parent=None if created is None else created.parent,
        tags=ledger.tags,
        owner=None if created is None else created.owner,
        workspace="" if created is None else created.workspace.path,
        prompt_tokens=ledger.usage.prompt_tokens,
        completion_tokens=ledger.usage.completion_tokens,
        delegated_by=None if created is None else created.delegated_by,
    )


def row_of_columns(columns: Sequence[Any]) -> Row:
    """The row of the catalogue's columns; what was never read is left at its default."""
    name, updated, size, created, *read = columns
    if read[0] is None:
        return Row(id=name, updated=from_micros(updated), bytes=size)
    status, title, model, calls, cost, unpriced, events, parent, tags, owner, workspace, *more = read
    return Row(
        id=name,
        updated=from_micros(updated),
        bytes=size,
        created=None if created is None else from_micros(created),
        status=status,
        title=title,
        model=model,
        calls=calls,
        cost=cost,
        unpriced=unpriced,
        events=events,
        parent=parent,
        tags=msgspec.json.decode(tags, type=dict[str, str]),
        owner=owner,
        workspace=workspace,
        prompt_tokens=more[0],
        completion_tokens=more[1],
        delegated_by=more[2],
    )


def read_row(directory: Path, updated: datetime, size: int) -> Row:
    """The row of a log that was so when it was last looked at; for a thread, since it blocks."""
    state = State()

    def replay(event: Event) -> None:
        nonlocal state
        state = apply(state, event)

    try:
        read_log(directory, replay, outlines=True)
    except (LogError, OSError):
        return Row(id=directory.name, updated=updated, bytes=size)
    return row_of(directory.name, updated, size, state, "" if state.ledger.title else read_task(directory))


class _Said(Exception):
    """Ends the reading of a log at the first message."""


def read_task(directory: Path) -> str:
    """The first line that a user wrote; no more is read than that takes."""
    task = ""

    def replay(event: Event) -> None:
        nonlocal task
        if isinstance(event, MessageEvent) and event.source == "user":
            task = next(iter(plain(event.content).strip().splitlines()), "")[:TITLE]
            raise _Said

    with suppress(_Said, LogError, OSError):
        read_log(directory, replay)
    return task


def to_micros(time: datetime) -> int:
    """Microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """The time, in UTC, of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
