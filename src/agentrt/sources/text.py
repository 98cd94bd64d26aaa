"""Texts of files that somebody else wrote: bounded, and read once however many links lead to them; for a thread."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

MOST_BYTES = 1 << 20
"""A larger file is not read."""

MOST_FILES = 20_000
"""Files and directories that are looked at in a search."""


class Problem(msgspec.Struct, frozen=True):
    """What could not be used, or only in part, and why."""

    path: str
    what: str


class Reader:
    """Reads files, each once; links that lead to one that was read, or round in a circle, lead to nothing more."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._seen = set[tuple[int, int]]()
        self._looked = 0

    def read(self, path: Path) -> str | None:
        """The text of a file; None when it is not there, was read before, or is a problem."""
        try:
            with open(path, "rb", opener=_opener) as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or not self._is_new(found):
                    return None
                data = file.read(MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.tell(path, f"cannot be read: {error.strerror or error}")
            return None
        if len(data) > MOST_BYTES:
            self.tell(path, f"is larger than {MOST_BYTES >> 20} MiB, and was passed over")
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.tell(path, "is no text in UTF-8")
            return None

    def entries(self, directory: Path) -> list[os.DirEntry[str]]:
        """What stands in a directory, by name; nothing when it is not there, or was looked at before."""
        try:
            if not self._is_new(os.stat(directory)):
                return []
            with os.scandir(directory) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.tell(directory, f"cannot be read: {error.strerror or error}")
            return []
        self._looked += len(found)
        if self._looked > MOST_FILES:
            self.tell(directory, f"is not searched: more than {MOST_FILES} files were looked at")
            return []
        return found

    def tell(self, path: Path, what: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(str(path), what))

    def _is_new(self, found: os.stat_result) -> bool:
        key = (found.st_dev, found.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)  # a pipe holds nobody up
