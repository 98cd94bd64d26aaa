"""Creates the rows of the list: from a state, from a log, or from the catalogue's columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import LogError
from ..events import Event, MessageEvent
from ..listing import DAMAGED, Filter, Row, from_micros
from ..specs.content import plain
from ..specs.llm import named
from ..state import State, apply
from .damage import read_whole_log
from .lineage import DELETED
from .memos import MEMO
from .reading import EVENTS, read_log

TITLE = 200
"""Maximum number of characters of a title."""


def parameters(wanted: Filter) -> dict[str, Any]:
    """Return the parameters of a filter for an SQL query."""
    tags = msgspec.json.encode(wanted.tags).decode()
    return msgspec.structs.asdict(wanted) | {"query": wanted.query.casefold(), "tags": tags}


def row_of(name: str, updated: datetime, size: int, state: State, task: str) -> Row:
    """Return the row of a conversation in a state; `task` is its title if it has none."""
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
    """Return the row of the catalogue's columns; values that were never read have their defaults."""
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
    """Return the row of a log with the size and time of its last check; for a thread, since it blocks.

    That of a damaged log has what its events before the damage say.
    """
    state = State()

    def replay(event: Event) -> None:
        nonlocal state
        state = apply(state, event)

    damaged = True
    with suppress(LogError, OSError):
        read_whole_log(directory, replay, outlines=True)
        damaged = False
    if damaged and state.created is None:
        return Row(id=directory.name, updated=updated, bytes=size)
    row = row_of(directory.name, updated, size, state, "" if state.ledger.title else read_task(directory))
    return replace(row, status=DAMAGED) if damaged else row


def measure(log: str) -> tuple[int, int] | None:
    """Return a log's modification time (microseconds) and size. None if it does not exist, is empty, or was deleted.

    A log that was emptied, as its memo shows, counts as one byte: it is damaged.
    """
    try:
        found = os.stat(log)
    except OSError:
        return None
    directory, size = log[: -len(EVENTS)], found.st_size
    if os.access(f"{directory}{DELETED}", os.F_OK):
        return None
    if not size and not os.access(f"{directory}{MEMO}", os.F_OK):
        return None
    return found.st_mtime_ns // 1000, size or 1


class _Said(Exception):
    """Ends the reading of a log at the first message."""


def task_of(event: Event) -> str | None:
    """Return the first line of an event, if a user wrote it."""
    if not isinstance(event, MessageEvent) or event.source != "user":
        return None
    return next(iter(plain(event.content).strip().splitlines()), "")[:TITLE]


def read_task(directory: Path) -> str:
    """Return the first line that a user wrote, reading no more of the log than needed."""
    task = ""

    def replay(event: Event) -> None:
        nonlocal task
        if (said := task_of(event)) is not None:
            task = said
            raise _Said

    with suppress(_Said, LogError, OSError):
        read_log(directory, replay)
    return task
