"""The log as one SQLite database: what the runtime's own store is compared with.

It is made as fast as it can be without giving up what the log promises: write-ahead log, `synchronous=FULL`, rows that
are only ever appended, and a writer thread that commits what waits of all conversations in one transaction.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

from agentrt.codec import encode
from agentrt.errors import LogFailed
from agentrt.events import Event
from agentrt.protocols import Committed

_SCHEMA = """
CREATE TABLE events (conversation INTEGER NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL);
CREATE UNIQUE INDEX places ON events (conversation, seq);
"""
_INSERT = "INSERT INTO events VALUES (?, ?, ?)"

Row: TypeAlias = tuple[int, int, bytes]


class _Batch:
    __slots__ = ("rows", "then")

    def __init__(self, rows: list[Row], then: Committed) -> None:
        self.rows, self.then = rows, then


class SqliteStore:
    """An async context manager: the writer thread lives between enter and exit. `group` bounds a transaction."""

    def __init__(self, path: Path, group: int) -> None:
        self._path, self._group = path, group
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()

    async def __aenter__(self) -> SqliteStore:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def log(self, conversation: int) -> SqliteLog:
        """The log of one conversation."""
        return SqliteLog(conversation, self)

    def commit(self, rows: list[Row], then: Committed) -> None:
        """Insert rows; `then` is told on the event loop once they are durable."""
        self._batches.put(_Batch(rows, then))

    def _run(self) -> None:
        database = sqlite3.connect(self._path, isolation_level=None)
        database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {_SCHEMA}")
        last = False
        while not last:
            group: list[_Batch] = []
            while not last and len(group) < self._group and not (group and self._batches.empty()):
                if (batch := self._batches.get()) is not None:
                    group.append(batch)
                last = batch is None
            if group:
                error = self._write(database, group)
                self._loop.call_soon_threadsafe(_acknowledge, group, error)
        database.close()

    def _write(self, database: sqlite3.Connection, group: Sequence[_Batch]) -> LogFailed | None:
        try:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(_INSERT, [row for batch in group for row in batch.rows])
            database.execute("COMMIT")
        except sqlite3.Error as error:
            return LogFailed(self._path, OSError(str(error)))
        return None


def _acknowledge(group: Sequence[_Batch], error: LogFailed | None) -> None:
    for batch in group:
        batch.then(error)


class SqliteLog:
    """One conversation's rows, for its only writer."""

    def __init__(self, conversation: int, store: SqliteStore) -> None:
        self._conversation, self._store = conversation, store

    def append(self, events: Sequence[Event], then: Committed) -> None:
        """Begin to write a batch; `then` is told once it is durable."""
        self._store.commit([(self._conversation, event.seq, encode(event)) for event in events], then)
