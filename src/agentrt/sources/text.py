"""Reads files that somebody else wrote: with limits, and each once, however many links lead to it; for a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path

from ..specs.context import ContextProblem
from ..workspaces.fingerprint import identity_of
from .listing import EMPTY, Entry, Listing, listed

MOST_BYTES = 1 << 20
"""Maximum size of a file; a larger one is skipped."""

MOST_FILES = 20_000
"""Maximum number of files and directories that are looked at in a search."""


class Reader:
    """Reads each file once: a link to one that was read before is skipped, so a circle of links ends.

    So is a link that leads out of the directory `within`, because a repository must not have other files shown.
    """

    def __init__(
        self, within: Path | None = None, apart: Path | None = None, hidden: Collection[str] = frozenset()
    ) -> None:
        """The directory `apart` is taken for empty, and files with the paths `hidden`, without links, for missing."""
        self._hidden = hidden
        self.problems: list[ContextProblem] = []
        self.digests: dict[str, str] = {}
        """The SHA-256 of each file that was read, in hexadecimal."""
        self._within = os.path.realpath(within) if within is not None else None
        self._seen = set[tuple[int, int]]()
        self._known = dict[str, bool]()
        self._listed = dict[str, Listing]()
        self._apart = None if apart is None else identity_of(str(apart))
        self._looked = 0

    def read(self, path: Path) -> str | None:
        """Return the text of a file; None if it is missing, no regular file, was read before, or is a problem."""
        if self._leads_out(path) or (self._hidden and os.path.realpath(path) in self._hidden):
            return None
        try:
            with open(path, "rb", opener=_opener) as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or not self._is_new(found):
                    return None
                data = file.read(MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self.tell(path, f"cannot be read: {getattr(error, 'strerror', None) or error}")
            return None
        if len(data) > MOST_BYTES:
            self.tell(path, f"is larger than {MOST_BYTES >> 20} MiB, and was passed over")
            return None
        self.digests[str(path)] = sha256(data).hexdigest()
        try:
            return data.decode("utf-8-sig").replace("\0", "\ufffd")
        except UnicodeDecodeError:
            self.tell(path, "is not text in UTF-8")
            return None

    def entries(self, directory: Path) -> list[Entry]:
        """Return the entries of a directory, sorted by name; none if it is missing or was looked at before."""
        try:
            return self.listing(directory).entries if self._is_new(os.stat(directory)) else []
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.tell(directory, f"cannot be read: {error.strerror or error}")
            return []

    def listing(self, directory: Path) -> Listing:
        """Return what is in a directory, even if it was looked at before."""
        place = str(directory)
        if place not in self._listed and self._leads_out(directory):
            self._listed[place] = EMPTY
        return self._list_once(place)

    def below(self, directory: Path, depth: int, is_searched: Callable[[str], bool]) -> Iterator[tuple[str, Listing]]:
        """Yield the directories below one whose names are searched, and what is in them, also if they were looked at
        before; the nearest first, so that a limit drops the farthest.

        A listing tells directories from links, so none of them leads out.
        """
        self.listing(directory)
        level = [str(directory)]
        for _ in range(depth):
            level = [
                f"{above}/{entry.name}"
                for above in level
                for entry in self._list_once(above).directories
                if is_searched(entry.name)
            ]
            yield from ((path, self._list_once(path)) for path in level)

    def _list_once(self, directory: str) -> Listing:
        if (found := self._listed.get(directory)) is None:
            found = self._listed[directory] = self._list(directory)
        return found

    def _list(self, directory: str) -> Listing:
        if self._looked > MOST_FILES:
            return EMPTY
        try:
            found = listed(directory)
        except (FileNotFoundError, NotADirectoryError):
            return EMPTY
        except OSError as error:
            self.tell(Path(directory), f"cannot be read: {error.strerror or error}")
            return EMPTY
        if found.identity == self._apart:
            return EMPTY
        self._looked += len(found.entries)
        if self._looked > MOST_FILES:
            self.tell(Path(directory), f"nothing more is searched: more than {MOST_FILES} files were looked at")
        return found

    def tell(self, path: Path, what: str) -> None:
        """Note a problem."""
        self.problems.append(ContextProblem(str(path), what))

    def _leads_out(self, path: Path) -> bool:
        if self._within is None or self._is_within(path):
            return False
        if os.path.lexists(path):
            self.tell(path, "leads out of the repository, and was passed over")
        return True

    def _is_within(self, path: Path) -> bool:
        if os.path.islink(path):
            return _is_below(os.path.realpath(path), self._within)
        return self._holds(str(path.parent)) or os.path.realpath(path) == self._within

    def _holds(self, directory: str) -> bool:
        """Return whether the entries of a directory are within."""
        if directory not in self._known:
            above = os.path.dirname(directory)
            self._known[directory] = (
                True
                if above != directory and self._known.get(above) and not os.path.islink(directory)
                else _is_below(os.path.realpath(directory), self._within)
            )
        return self._known[directory]

    def _is_new(self, found: os.stat_result) -> bool:
        key = (found.st_dev, found.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def beginning_of(path: Path) -> str:
    """Return the first 512 bytes of a file as text, "" for a file that is not regular. Raises `OSError`."""
    with open(path, "rb", opener=_opener) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return ""
        return file.read(512).decode(errors="replace")


def _is_below(real: str, root: str | None) -> bool:
    return root is not None and (real == root or real.startswith(root.rstrip(os.sep) + os.sep))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)  # so that a pipe does not block
