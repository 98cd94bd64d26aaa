"""`Shown`: what is shown of a line; of a long line, the text around the match. For a thread: it reads files."""

from __future__ import annotations

import codecs

from ...errors import ToolError
from ...protocols import ToolContext
from ...secrets import HIDDEN
from ...specs.content import sound
from .query import Line

WIDTH = 500
"""Maximum number of characters shown of a line."""

BEFORE = 120
"""How many of these come before a match that is not near the beginning."""

MOST_READ = 64 << 20
"""Maximum size of a file, in bytes, that is read for a match beyond the printed part of its line."""

_LONGEST_SECRET = 4096
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_RELIABLE = 3500
"""Number of bytes of a line that are always printed, whatever their characters."""


class Shown:
    """Shortens lines of the files in a directory. It keeps the file that it read last."""

    def __init__(self, directory: str, context: ToolContext) -> None:
        self._directory, self._context = directory.rstrip("/"), context
        self._path = ""
        self._lines: list[bytes] = []

    def of(self, line: Line) -> str:
        """Return a line; a long one is masked and shortened."""
        at = 0 if line.column is None else line.column - 1
        if len(line.text) <= WIDTH:
            return line.text
        near = 0
        if at + WIDTH <= _RELIABLE:
            printed: bytes | None = line.text.encode("utf-8", "surrogateescape")
        else:
            near, printed = max(0, at - BEFORE * 4 - _LONGEST_SECRET), self._whole(line)
        if printed is None or len(printed) < at:
            return f"{self._masked(line.text)[:WIDTH]} [... more; the match is at byte {at + 1:,} of the line]"
        behind = printed[at : at + WIDTH * 4 + _LONGEST_SECRET]
        return self._cut(_decoded(printed[near:at]), _decoded(behind), from_its_beginning=not near)

    def _cut(self, before: str, after: str, *, from_its_beginning: bool) -> str:
        """Return a part of the text before a match and of the text from the match on. They are masked before they are
        cut, because a cut could split a secret.
        """
        left, right = self._masked(before), self._masked(after)
        if self._masked(before + after) != left + right:  # a secret spans both
            left, right = "", HIDDEN
        if from_its_beginning and len(left) + BEFORE <= WIDTH:
            return f"{left}{right[: WIDTH - len(left)]} [... more]"
        more = " [... more]" if len(right) > WIDTH - BEFORE else ""
        return f"[more ...] {left[-BEFORE:]}{right[: WIDTH - BEFORE]}{more}"

    def _masked(self, text: str) -> str:
        return self._context.masked(sound(text), by_line=True)

    def _whole(self, line: Line) -> bytes | None:
        """Return the bytes of a line; None if they cannot be read, or are not the bytes that its column counts."""
        if line.path != self._path:
            self._path, self._lines = line.path, self._read(f"{self._directory}/{line.path}")
        number = line.number or 0
        return self._lines[number - 1] if 0 < number <= len(self._lines) else None

    def _read(self, path: str) -> list[bytes]:
        try:
            status = self._context.files.status(path)
            if status is None or status.st_size > MOST_READ:
                return []
            data = self._context.files.read(path)
        except ToolError:
            return []
        return [] if data.startswith(_WIDE) else data.removeprefix(codecs.BOM_UTF8).split(b"\n")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
