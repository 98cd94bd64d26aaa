"""`Catalogue`: a store's conversations, one row each. A cache beside the logs: deleting its file only costs time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from ..errors import LogError
from ..listing import CRASHED, DAMAGED, RUNNING, Filter, Hit, Mark, Row, from_micros, to_micros
from ..state import State
from ..storing import Live, Progress, Within, is_meant
from .database import Database, transaction
from .index import Index, Log, to_match
from .locks import is_held
from .pages import read_created
from .reading import EVENTS
from .rows import measure, parameters, read_row, read_task, row_of, row_of_columns

CATALOGUE = "catalogue.sqlite"

VERSION = 4
"""Version of the layout below; a file with another version is replaced."""

FEW = 5000
"""Up to this many conversations, the size of every log is checked; with more, only that of logs in possible use."""

_CHUNK = 256
"""Number of logs that are read before their rows are written."""

_SETTLED = 2.0
"""Seconds after which a directory's time differs for every later change (file systems have ticks of up to 2 s)."""

_SCHEMA = """
CREATE TABLE conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    updated INTEGER NOT NULL,           -- the log's time of modification, microseconds
    bytes INTEGER NOT NULL,             -- its size at that time; 0 while there is none
    dirty INTEGER NOT NULL DEFAULT 0,   -- someone may be writing it
    known INTEGER NOT NULL DEFAULT 0,   -- the rest was read from the log when it was so
    created INTEGER, status TEXT, title TEXT, model TEXT, calls INTEGER, cost REAL, unpriced INTEGER, events INTEGER,
    parent TEXT,
    tags TEXT,                          -- a JSON object
    owner TEXT, workspace TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, delegated_by TEXT
);
CREATE INDEX newest ON conversations (updated, id);
CREATE INDEX written ON conversations (number) WHERE dirty;
CREATE TABLE seen (modified INTEGER NOT NULL);  -- the directory's time when its names were read last, nanoseconds
"""

_READ = (
    "created, status, title, model, calls, cost, unpriced, events, parent, tags, owner, workspace, prompt_tokens,"
    " completion_tokens, delegated_by"
)
_COLUMNS = f"id, updated, bytes, {_READ}"

_FITS = """
    NOT known OR (
        (:status IS NULL OR status = :status) AND (:owner IS NULL OR owner = :owner)
        AND (:query = '' OR instr(casefold(title), :query) OR instr(casefold(id), :query))
        AND NOT EXISTS (
            SELECT 1 FROM json_each(:tags) t
            WHERE NOT EXISTS (SELECT 1 FROM json_each(c.tags) o WHERE o.key = t.key AND o.value = t.value)
        )
    )
"""
"""The SQL form of `Filter.fits`, for rows that are known."""

_UNSURE = f"dirty OR NOT known OR status IS '{RUNNING}'"
"""The rows that may be outdated: a process may be writing the log, or may have died while writing it."""

MOST = 2000
"""Maximum number of hits that are searched for those of an owner."""


class Catalogue:
    """The rows of a store's conversations, and a full-text index; blocking, for a thread; shared by processes.

    Writers of a conversation report it (`begin`, `note`), which keeps the list cheap. Unreported changes are found as
    well: new and missing directories always, changed logs if they are shown or searched, or if there are few.
    """

    def __init__(self, root: Path, few: int = FEW) -> None:
        self._conversations, self._few = root / "conversations", few
        self._database = Database(root / CATALOGUE, _SCHEMA, VERSION)

    def begin(self, conversation_id: str) -> None:
        """Record that this process writes the conversation from now on."""
        self._database.tell(partial(_begin, conversation_id))

    def note(self, conversation_id: str, state: State | None = None) -> None:
        """Record that this process stops writing the conversation; call this while it still holds the lock.

        With its last state, the row is complete; without, the log is read when the row is shown.
        """
        self._database.tell(partial(self._note, conversation_id, state))

    def forget(self, conversation_id: str) -> None:
        """Record that the conversation was deleted."""
        self._database.tell(partial(_forget_one, conversation_id))

    def close(self) -> None:
        """Close the connection that `begin`, `note` and `forget` keep open."""
        self._database.close()

    def page(
        self,
        limit: int = 20,
        after: Mark | None = None,
        wanted: Filter = Filter(),
        live: Live = lambda name: None,
    ) -> list[Row]:
        """Return the conversations after a position, the most recently written first."""
        if not self._conversations.exists():
            return []  # and no file is left where there is no store
        return self._database.ask(lambda connection: self._page(connection, limit, after, wanted, live))

    def count(self, wanted: Filter | None = None, live: Live = lambda name: None) -> int:
        """Return the total number of conversations of `page`; only logs that may be in use are checked.

        Without a filter this is the number of reported conversations, and no log is checked.
        """
        if not self._conversations.exists():
            return 0
        if wanted is None:
            return int(self._database.ask(lambda c: c.execute("SELECT count(*) FROM conversations").fetchone())[0])
        return self._database.ask(lambda connection: self._count(connection, wanted, live))

    def search(
        self,
        words: str,
        limit: int = 20,
        *,
        newest: bool = False,
        owner: str | None = None,
        workspace: str | None = None,
        within: Within | None = None,
        progress: Progress = lambda done, of: None,
    ) -> list[Hit]:
        """Return the events in which all `words` occur, the best first, or with `newest` the newest conversations.

        `owner` and `workspace` limit the search to an owner's conversations and to a workspace. `within` filters them
        by their first event. With any of the three, only the first `MOST` hits are searched. `progress` is called with
        the number of logs read, and the number that changed since the last search. Raises `ConfigurationError` without
        a word, or without FTS5.
        """
        match = to_match(words)
        if not self._conversations.exists():
            return []

        def work(connection: sqlite3.Connection) -> list[Hit]:
            index = Index(connection)
            index.prepare()
            self._refresh(connection, thorough=True)
            changed = index.changed()
            logs = (Log(number, self._log(name), size, updated) for number, name, size, updated in changed)
            index.update(logs, len(changed), progress)
            search = partial(index.search, match, newest=newest, owner=owner, workspace=workspace)
            if owner is None and workspace is None and within is None:
                return search(limit)
            return self._theirs(lambda created: is_meant(created, owner, workspace, within), limit, search)

        return self._database.ask(work)

    def _theirs(self, whose: Within, limit: int, search: Callable[[int], list[Hit]]) -> list[Hit]:
        """Return the first hits in the conversations for which `whose` is true."""

        @cache
        def visible(name: str) -> bool:
            with suppress(LogError, OSError):
                return whose(read_created(self._conversations / name))
            return False

        most = limit
        while True:
            hits = search(most)
            shown = [hit for hit in hits if visible(hit.conversation)][:limit]
            if len(shown) == limit or len(hits) < most or most >= MOST:
                return shown
            most = min(most * 10, MOST)

    def rebuild(self, progress: Progress = lambda done, of: None) -> int:
        """Read every log again, and return their number."""
        return self._database.ask(lambda connection: self._rebuild(connection, progress))

    def _log(self, conversation_id: str) -> str:
        return f"{self._conversations}/{conversation_id}/{EVENTS}"  # a Path would cost more than its stat

    def _note(self, conversation_id: str, state: State | None, connection: sqlite3.Connection) -> None:
        found = measure(self._log(conversation_id))
        if found is None:
            _forget_one(conversation_id, connection)
            return
        row = None if state is None else self._row(conversation_id, *found, state, connection)
        with transaction(connection):
            _begin(conversation_id, connection)
            if row is not None:
                _write(connection, [row])
            connection.execute(
                "UPDATE conversations SET known = known AND (updated, bytes) = (?, ?), updated = ?, bytes = ?,"
                " dirty = 0 WHERE id = ?",
                (*found, *found, conversation_id),
            )

    def _row(self, name: str, updated: int, size: int, state: State, connection: sqlite3.Connection) -> Row:
        """Return the row of a state; a missing title comes from the known row, or from the beginning of the log."""
        task = ""
        if not state.ledger.title:
            told = connection.execute("SELECT title FROM conversations WHERE id = ?", (name,)).fetchone()
            task = (told and told[0]) or read_task(self._conversations / name)
        return row_of(name, from_micros(updated), size, state, task)

    def _page(
        self, connection: sqlite3.Connection, limit: int, after: Mark | None, wanted: Filter, live: Live
    ) -> list[Row]:
        self._refresh(connection)
        connection.create_function("casefold", 1, str.casefold, deterministic=True)
        rows: list[Row] = []
        place = (1 << 62, "") if after is None else (to_micros(after.updated), after.id)
        asked = parameters(wanted)
        if wanted.status == CRASHED:  # so their logs say
            asked["status"] = RUNNING
        while len(rows) < limit:
            chunk = connection.execute(
                f"SELECT known, {_COLUMNS} FROM conversations c WHERE bytes > 0"
                f" AND (updated, id) < (:updated, :id) AND ({_FITS}) ORDER BY updated DESC, id DESC LIMIT :few",
                asked
                | {"updated": place[0], "id": place[1], "few": limit if wanted == Filter() else max(limit, _CHUNK)},
            ).fetchall()
            if not chunk:
                break
            place = chunk[-1][2], chunk[-1][1]
            rows += [row for row in self._current(connection, chunk, live) if wanted.fits(row)]
        rows.sort(key=lambda row: (row.updated, row.id), reverse=True)
        return rows[:limit]

    def _count(self, connection: sqlite3.Connection, wanted: Filter, live: Live) -> int:
        self._refresh(connection)
        connection.create_function("casefold", 1, str.casefold, deterministic=True)
        query = f"SELECT count(*) FROM conversations c WHERE bytes > 0 AND NOT ({_UNSURE}) AND ({_FITS})"
        (count,) = connection.execute(query, parameters(wanted)).fetchone()
        place = 0
        while chunk := connection.execute(
            f"SELECT number, known, {_COLUMNS} FROM conversations WHERE bytes > 0 AND number > ? AND ({_UNSURE})"
            " ORDER BY number LIMIT ?",
            (place, _CHUNK),
        ).fetchall():
            place = chunk[-1][0]
            count += sum(wanted.fits(row) for row in self._current(connection, [row[1:] for row in chunk], live))
        return int(count)

    def _current(
        self, connection: sqlite3.Connection, chunk: Iterable[Sequence[Any]], live: Live = lambda name: None
    ) -> list[Row]:
        """Return the rows in the current state of their logs: changed logs are read again; those that were deleted, or
        never had a whole batch, are left out.
        """
        rows: list[Row] = []
        read: list[Row] = []
        for known, *columns in chunk:
            row = row_of_columns(columns)
            found = measure(self._log(row.id))
            if found is None:
                continue
            if (state := live(row.id)) is not None:
                row = self._row(row.id, *found, state, connection)
            elif not known or found != (to_micros(row.updated), row.bytes):
                row = read_row(self._conversations / row.id, from_micros(found[0]), found[1])
                if not row.events and row.status != DAMAGED:
                    continue  # its creation was interrupted, or goes on
                read.append(row)
            rows.append(row)
        crashed = {row.id for row in rows if row.status == RUNNING and live(row.id) is None and self._is_left(row.id)}
        if read:
            with transaction(connection):
                _write(connection, read)
        return [msgspec.structs.replace(row, status=CRASHED) if row.id in crashed else row for row in rows]

    def _is_left(self, conversation_id: str) -> bool:
        """Return whether no process is writing the conversation."""
        return not is_held(self._conversations.parent / "lock", conversation_id)

    def _refresh(self, connection: sqlite3.Connection, *, thorough: bool = False) -> None:
        """Find new and missing conversations, and the sizes and times of logs that may have changed, without reading a
        log.
        """
        self._refresh_names(connection)
        (last,) = connection.execute("SELECT max(number) FROM conversations").fetchone()
        which = "" if thorough or (last or 0) <= self._few else "WHERE dirty"
        rows = connection.execute(f"SELECT number, id, updated, bytes FROM conversations {which}").fetchall()
        changed = []
        for number, name, *seen in rows:
            found = measure(self._log(name)) or (0, 0)
            if found != tuple(seen):
                changed.append((*found, number))
        if changed:
            with transaction(connection):
                connection.executemany(
                    "UPDATE conversations SET updated = ?, bytes = ?, known = 0 WHERE number = ?", changed
                )

    def _refresh_names(self, connection: sqlite3.Connection) -> None:
        try:
            modified = os.stat(self._conversations).st_mtime_ns
        except FileNotFoundError:
            modified = 0
        seen = connection.execute("SELECT modified FROM seen").fetchone()
        if seen == (modified,):
            return
        names = set(_names(self._conversations))
        rows = connection.execute("SELECT id, dirty AND bytes = 0 FROM conversations").fetchall()
        gone = [name for name, awaited in rows if name not in names and not awaited]
        new = sorted(names.difference(name for name, _ in rows))  # in the order of creation: ids begin with a time
        with transaction(connection):
            _forget(gone, connection)
            connection.executemany(
                "INSERT OR IGNORE INTO conversations (id, updated, bytes, dirty) VALUES (?, ?, ?, ?)",
                self._found(new),
            )
            connection.execute("DELETE FROM seen")
            if time.time_ns() - modified > _SETTLED * 1e9:
                connection.execute("INSERT INTO seen VALUES (?)", (modified,))

    def _found(self, names: Iterable[str]) -> Iterator[tuple[str, int, int, bool]]:
        for name in names:
            found = measure(self._log(name))
            updated, size = found or (0, 0)
            yield name, updated, size, found is None  # a directory without a log is looked at again

    def _rebuild(self, connection: sqlite3.Connection, progress: Progress) -> int:
        with transaction(connection):
            connection.execute("DELETE FROM seen")
            connection.execute("UPDATE conversations SET known = 0")
        self._refresh(connection, thorough=True)
        query = f"SELECT known, {_COLUMNS} FROM conversations WHERE bytes > 0 ORDER BY number"
        rows = connection.execute(query).fetchall()
        for begin in range(0, len(rows), _CHUNK):
            self._current(connection, rows[begin : begin + _CHUNK])
            progress(min(begin + _CHUNK, len(rows)), len(rows))
        return len(rows)


def _begin(conversation_id: str, connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO conversations (id, updated, bytes, dirty) VALUES (?, 0, 0, 1)"
        " ON CONFLICT (id) DO UPDATE SET dirty = 1",
        (conversation_id,),
    )


def _forget_one(name: str, connection: sqlite3.Connection) -> None:
    with transaction(connection):
        _forget([name], connection)


def _forget(names: Iterable[str], connection: sqlite3.Connection) -> None:
    for name in names:
        found = connection.execute("DELETE FROM conversations WHERE id = ? RETURNING number", (name,)).fetchone()
        if found is not None:
            Index(connection).drop(found[0])


def _write(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    values = []
    for row in rows:
        created = None if row.created is None else to_micros(row.created)
        tags = msgspec.json.encode(row.tags).decode()
        read = (row.status, row.title, row.model, row.calls, row.cost, row.unpriced, row.events, row.parent, tags)
        more = (row.owner, row.workspace, row.prompt_tokens, row.completion_tokens, row.delegated_by)
        values.append((to_micros(row.updated), row.bytes, created, *read, *more, row.id))
    connection.executemany(
        f"UPDATE conversations SET known = 1, updated = ?, bytes = ?, ({_READ}) = ({', '.join('?' * 15)}) WHERE id = ?",
        values,
    )


def _names(directory: Path) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            # skip a name that cannot be printed: it is not a conversation's, and SQLite rejects undecodable names
            yield from (entry.name for entry in entries if entry.is_dir() and entry.name.isprintable())
    except FileNotFoundError:
        return
