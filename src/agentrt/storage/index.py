"""`Index`: full text of messages, calls and results. It is updated from the logs only when a search is made.

The words are in an FTS5 table, whose row id is the conversation's number and the event's seq (32 bits). For each log,
it stores how far the log is indexed, and the checksum of the last indexed record. The checksum distinguishes a log that
grew from one that was cut and rewritten, which is indexed again from its beginning.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..codec import decode
from ..context.texts import text_of
from ..errors import ConfigurationError, LogCorrupt
from ..listing import Hit
from ..storing import Progress
from .database import transaction
from .framing import scan
from .reading import BUFFER, origin

PIECE = 4 << 20
"""Approximate number of characters indexed in one transaction; other writers wait for it."""

LOGS = 512
"""Maximum number of logs indexed in one transaction."""

SNIPPET = 24
"""Approximate number of words in a snippet."""

_TAIL = 64
_OPEN, _CLOSE = "\x02", "\x03"
_MARKS = {0: None, 2: None, 3: None}  # a NUL ends SQLite's text, the others mark a match
_WORDS = re.compile(r'"([^"]*)"?|([^\s"]+)')

_SCHEMA = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING {module} (text, kind UNINDEXED)",
    "CREATE TABLE IF NOT EXISTS indexed (number INTEGER PRIMARY KEY, size INTEGER NOT NULL, updated INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, bytes INTEGER NOT NULL, tail BLOB NOT NULL)",
)


class Log(msgspec.Struct, frozen=True):
    """A log to index; its size in bytes and its modification time (microseconds) when it was checked."""

    number: int
    path: str
    size: int
    updated: int


class _Piece(msgspec.Struct, frozen=True):
    """A part of a log: it continues from the index's position `base` (end, tail), or starts over."""

    log: Log
    base: tuple[int, bytes] | None
    entries: list[tuple[int, str, str]]
    seq: int
    end: int
    tail: bytes
    last: bool


class Index:
    """The tables of the index, beside those of the catalogue."""

    def __init__(self, connection: sqlite3.Connection, module: str = "fts5") -> None:
        self._connection, self._module = connection, module

    def prepare(self) -> None:
        """Create the tables. Raises `ConfigurationError` if this SQLite has no full-text search."""
        if self._made():
            return
        try:
            with transaction(self._connection):
                for statement in _SCHEMA:
                    self._connection.execute(statement.format(module=self._module))
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            raise ConfigurationError(
                f"this Python's SQLite ({sqlite3.sqlite_version}) was built without {self._module}, which search"
                " needs: use another Python, or grep the logs"
            ) from error

    def drop(self, number: int) -> None:
        """Remove a conversation from the index, if it is there."""
        if self._made():
            self._connection.execute(
                "DELETE FROM words WHERE rowid BETWEEN ? AND ?", (number << 32, (number + 1 << 32) - 1)
            )
            self._connection.execute("DELETE FROM indexed WHERE number = ?", (number,))

    def _made(self) -> bool:
        return bool(self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'indexed'").fetchone())

    def changed(self) -> list[tuple[int, str, int, int]]:
        """Return number, id, size and time of the catalogue's logs whose index is out of date."""
        return self._connection.execute(
            "SELECT c.number, c.id, c.bytes, c.updated FROM conversations c LEFT JOIN indexed i USING (number)"
            " WHERE c.bytes > 0 AND (i.size IS NOT c.bytes OR i.updated IS NOT c.updated) ORDER BY c.number"
        ).fetchall()

    def update(self, logs: Iterable[Log], of: int, progress: Progress) -> None:
        """Index new records, and remove deleted logs; logs are read outside the transactions."""
        self._prune()
        pieces: list[_Piece] = []
        amount = done = 0
        for log in logs:
            for piece in self._pieces(log):
                pieces.append(piece)
                amount += sum(len(text) for _, _, text in piece.entries)
                done += piece.last
                if amount >= PIECE or len(pieces) >= LOGS:
                    self._write(pieces)
                    progress(done, of)
                    pieces, amount = [], 0
        if pieces:
            self._write(pieces)
            progress(of, of)

    def _prune(self) -> None:
        gone = self._connection.execute(
            "SELECT number FROM indexed WHERE number NOT IN (SELECT number FROM conversations WHERE bytes > 0)"
        ).fetchall()
        if gone:
            with transaction(self._connection):
                for (number,) in gone:
                    self.drop(number)

    def search(
        self, match: str, limit: int, *, newest: bool, owner: str | None = None, workspace: str | None = None
    ) -> list[Hit]:
        """Return the events that an FTS5 query finds, the best first (BM25) or the newest conversations first; limited
        to an owner and a workspace, as far as the catalogue knows them.
        """
        order = "words.rowid DESC" if newest else "rank"
        found = self._connection.execute(
            "SELECT c.id, words.rowid & 0xFFFFFFFF, kind, snippet(words, 0, ?, ?, '…', ?)"
            " FROM words CROSS JOIN conversations c ON c.number = words.rowid >> 32"
            " WHERE words MATCH ? AND c.bytes > 0 AND (NOT c.known OR ((? IS NULL OR c.owner = ?)"
            f" AND (? IS NULL OR c.workspace = ?))) ORDER BY {order} LIMIT ?",
            (_OPEN, _CLOSE, SNIPPET, match, owner, owner, workspace, workspace, limit),
        )
        return [Hit(name, seq, kind, *_unmarked(snippet)) for name, seq, kind, snippet in found]

    def _pieces(self, log: Log) -> Iterator[_Piece]:
        known = self._connection.execute(
            "SELECT seq, bytes, tail FROM indexed WHERE number = ?", (log.number,)
        ).fetchone()
        try:
            with open(log.path, "rb", buffering=BUFFER) as file:
                seq, end, tail = known or (0, 0, b"")
                file.seek(end - len(tail))
                base = (end, tail) if end and file.read(len(tail)) == tail else None
                if base is None:
                    file.seek(0)
                    shared = origin(file.readline())
                    seq, end, tail = shared[1] if shared else 0, 0, b""
                    file.seek(0)
                entries, amount = list[tuple[int, str, str]](), 0
                for batch in _good(scan(file, Path(log.path), seq)):
                    for line in batch:
                        seq, end = seq + 1, end + len(line)
                        if (entry := _entry(line)) is not None:
                            entries.append((log.number << 32 | seq, *entry))
                            amount += len(entry[1])
                    tail = batch[-1][-_TAIL:]
                    if amount >= PIECE:
                        yield _Piece(log, base, entries, seq, end, tail, last=False)
                        base, entries, amount = (end, tail), [], 0
                yield _Piece(log, base, entries, seq, end, tail, last=True)
        except OSError:
            return  # gone since, or not ours to read: the catalogue says so

    def _write(self, pieces: Iterable[_Piece]) -> None:
        with transaction(self._connection):
            for piece in pieces:
                number = piece.log.number
                query = "SELECT bytes, tail FROM indexed WHERE number = ?"
                if piece.base is None:
                    self.drop(number)
                elif self._connection.execute(query, (number,)).fetchone() != piece.base:
                    continue  # another process indexed it meanwhile
                self._connection.executemany("INSERT INTO words (rowid, kind, text) VALUES (?, ?, ?)", piece.entries)
                looked_at = (piece.log.size, piece.log.updated) if piece.last else (0, 0)
                self._connection.execute(
                    "REPLACE INTO indexed (number, size, updated, seq, bytes, tail) VALUES (?, ?, ?, ?, ?, ?)",
                    (number, *looked_at, piece.seq, piece.end, piece.tail),
                )


def to_match(words: str) -> str:
    """Return the FTS5 query for typed text: all words must match, quotes make a phrase, a star ends a prefix.

    Nothing else has a meaning, so there are no syntax errors. Raises `ConfigurationError` without a word.
    """
    return " ".join(f'"{said}"*' if begins else f'"{said}"' for said, begins in terms(words))


def terms(words: str) -> list[tuple[str, bool]]:
    """Return the typed words and phrases, and whether each is only a prefix. Raises the same error as `to_match`."""
    found = [
        (each[1] if each[2] is None else each[2], bool(each[2]) and each[2].endswith("*"))
        for each in _WORDS.finditer(words.translate(_MARKS))
    ]
    if not (said := [(term, begins) for term, begins in found if any(map(str.isalnum, term))]):
        raise ConfigurationError(f"nothing to search for in {words!r}: give a word, or several")
    return said


def _good(batches: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    """Return the batches before any damage: that part of the log can still be searched."""
    try:
        yield from batches
    except LogCorrupt:
        return


def _entry(line: bytes) -> tuple[str, str] | None:
    try:
        entry = text_of(decode(line))
    except (ValueError, UnicodeDecodeError):
        return None  # no event of this schema
    return None if entry is None else (entry[0], entry[1].translate(_MARKS))


def _unmarked(snippet: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text without the marks, and the positions of the marks."""
    text, matches = "", []
    for part in snippet.split(_OPEN):
        match, closed, rest = part.partition(_CLOSE)
        if closed:
            matches.append((len(text), len(text) + len(match)))
        text += match + rest
    return text, tuple(matches)
