"""`Database`: an SQLite file used only as a cache: if damaged or of another version, it is replaced by an empty one."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

T = TypeVar("T")

ASK_SECONDS = 10.0
"""Seconds that a query waits for another process that writes."""

TELL_SECONDS = 1.0
"""Seconds that a note waits; then it is dropped."""


class OtherVersion(sqlite3.DatabaseError):
    """Raised when the file has another version's layout."""


class Database:
    """One file that several processes share (write-ahead log, so that readers never wait); blocking, for a thread.

    `schema` creates the tables of an empty file, whose version is `version`. The file is not touched before the first
    use.
    """

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self._schema, self._version = schema, version
        self._lock = threading.Lock()
        self._kept: tuple[int, sqlite3.Connection] | None = None

    def ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `work` on a new connection; `work` may run twice.

        The second run is on a new file if this one is damaged, or in memory if there can be no file.
        """
        try:
            inode = self._find()
            try:
                with closing(self._connect(ASK_SECONDS)) as connection:
                    return work(connection)
            except sqlite3.DatabaseError as error:
                if not _damaged(error):
                    raise
            self._discard(inode)
            self._find()
            with closing(self._connect(ASK_SECONDS)) as connection:
                return work(connection)
        except (FileNotFoundError, PermissionError, OtherVersion, sqlite3.OperationalError):
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
                connection.executescript(self._schema)
                return work(connection)

    def tell(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do `work` on the connection that is kept. If it fails, the cache misses it: a cache is not authoritative."""
        with self._lock:
            inode = 0
            try:
                inode, connection = self._keep()
                work(connection)
            except (OSError, sqlite3.Error) as error:
                self._drop()
                if _damaged(error) and inode:
                    self._discard(inode)

    def close(self) -> None:
        """Close the kept connection; the next note opens another."""
        with self._lock:
            self._drop()

    def _keep(self) -> tuple[int, sqlite3.Connection]:
        """Return the kept connection, or a new one if the file was replaced."""
        inode = self._find()
        if self._kept is None or self._kept[0] != inode:
            self._drop()
            try:
                self._kept = inode, self._connect(TELL_SECONDS)
            except sqlite3.DatabaseError as error:
                if _damaged(error):
                    self._discard(inode)
                raise
        return self._kept

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None

    def _find(self) -> int:
        """Return the file's inode; the file is created if it does not exist. Raises `OSError`."""
        try:
            return os.stat(self.path).st_ino
        except FileNotFoundError:
            self._create()
            return os.stat(self.path).st_ino

    def _connect(self, seconds: float) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?mode=rw",
            uri=True,
            timeout=seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != self._version:
                raise OtherVersion(f"layout {version}, not {self._version}")
            connection.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Create the complete file under another name first, so that no process ever sees an incomplete one. Raises
        `OSError`.
        """
        with _alone(self.path.parent):
            if self.path.exists():
                return
            self._remove_logs()
            handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            os.close(handle)
            try:
                with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                    connection.execute("PRAGMA synchronous=OFF")
                    connection.execute("PRAGMA journal_mode=WAL")
                    connection.executescript(self._schema)
                    connection.execute(f"PRAGMA user_version={self._version}")
                os.rename(temporary, self.path)
            except BaseException:
                os.unlink(temporary)
                raise

    def _discard(self, inode: int) -> None:
        """Delete the file, unless it was replaced already."""
        with _alone(self.path.parent):
            if self.path.exists() and os.stat(self.path).st_ino == inode:
                self._remove_logs()
                self.path.unlink(missing_ok=True)

    def _remove_logs(self) -> None:
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


def _damaged(error: Exception) -> bool:
    if isinstance(error, OtherVersion):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Exclude other processes during the body. This must not open the file itself: that releases SQLite's locks."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything in the body, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
