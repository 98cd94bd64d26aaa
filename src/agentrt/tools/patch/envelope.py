"""Parses the text of a patch into operations on files. Pure.

The format is that of OpenAI's `apply_patch` (GPT-4.1 prompting guide, "Appendix: Generating and Applying File Diffs"):

    *** Begin Patch
    *** Add File: PATH, then the lines with "+"
    *** Delete File: PATH
    *** Update File: PATH, then perhaps "*** Move to: PATH", then hunks: "@@ LINE ABOVE", lines with " ", "-" and "+",
        and perhaps "*** End of File"
    *** End Patch
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from ...errors import ToolError

Kind: TypeAlias = Literal[" ", "-", "+"]

_OPERATION = re.compile(r"\*\*\* (Add|Update|Delete) File: ?(.*)")
_MOVE = re.compile(r"\*\*\* Move to: ?(.*)")
_HEREDOC = re.compile(r"(?:apply_patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
_KINDS: dict[str, Kind] = {" ": " ", "-": "-", "+": "+"}


class Hunk(msgspec.Struct, frozen=True):
    """Consecutive lines, each kept, removed or added, below the lines of the file that `above` names.

    `number` is the line of the patch where the hunk begins, from 1.
    """

    lines: tuple[tuple[Kind, str], ...]
    above: tuple[str, ...] = ()
    at_end: bool = False
    number: int = 0

    @property
    def old(self) -> list[str]:
        """The lines that it replaces."""
        return [line for kind, line in self.lines if kind != "+"]


class Add(msgspec.Struct, frozen=True):
    """A new file."""

    path: str
    text: str


class Delete(msgspec.Struct, frozen=True):
    """A file to delete."""

    path: str


class Update(msgspec.Struct, frozen=True):
    """A file to change, to move, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


Operation: TypeAlias = Add | Delete | Update


class _Lines:
    """The lines between the first and the last line of a patch, and the position in them."""

    def __init__(self, patch: str) -> None:
        lines = [line.removesuffix("\r") for line in patch.strip("\n").split("\n")]
        self.first = 1
        if _HEREDOC.fullmatch(lines[0].strip()):
            lines, self.first = lines[1:-1] if len(lines) > 1 else [], 2
        if not lines or lines[0].strip() != "*** Begin Patch":
            raise ToolError('a patch begins with the line "*** Begin Patch"')
        while lines and not lines[-1].strip():
            lines.pop()
        if lines[-1].strip() != "*** End Patch":
            raise ToolError('the patch does not end with the line "*** End Patch": was it cut?')
        self._lines, self.first, self._at = lines[1:-1], self.first + 1, 0

    @property
    def number(self) -> int:
        """The number of the next line."""
        return self.first + self._at

    def peek(self) -> str | None:
        """The next line; None at the end."""
        return self._lines[self._at] if self._at < len(self._lines) else None

    def next(self) -> str:
        """Return the next line and go past it."""
        self._at += 1
        return self._lines[self._at - 1]


def parsed(patch: str) -> tuple[Operation, ...]:
    """Return the operations of a patch, in its order. Raises `ToolError` for an invalid patch."""
    lines, found = _Lines(patch), list[Operation]()
    while (line := lines.peek()) is not None:
        number = lines.number
        operation = _OPERATION.fullmatch(line.strip())
        if operation is None:
            if not line.strip():
                lines.next()
                continue
            raise _wrong(number, line, 'expected "*** Add File: PATH", or Update File, or Delete File')
        path = operation[2].strip()
        if not path or "\0" in path:
            raise _wrong(number, line, "there is no path")
        lines.next()
        match operation[1]:
            case "Add":
                found.append(_added(path, lines))
            case "Delete":
                found.append(Delete(path))
            case _:
                found.append(_updated(path, lines))
    if not found:
        raise ToolError("the patch is empty: nothing is between its first and its last line")
    return tuple(found)


def _added(path: str, lines: _Lines) -> Add:
    text = list[str]()
    while (line := lines.peek()) is not None and not line.startswith("*** "):
        if not line.startswith("+"):
            raise _wrong(lines.number, line, f'each line of the new file {path} begins with "+"')
        text.append(lines.next()[1:])
    return Add(path, "".join(f"{line}\n" for line in text))


def _updated(path: str, lines: _Lines) -> Update:
    move_to = None
    if (line := lines.peek()) is not None and (moved := _MOVE.fullmatch(line.strip())) is not None:
        move_to = moved[1].strip()
        if not move_to or "\0" in move_to:
            raise _wrong(lines.number, line, "there is no path")
        lines.next()
    hunks = list[Hunk]()
    while (line := lines.peek()) is not None and not _OPERATION.fullmatch(line.rstrip()):
        hunks.append(_hunk(path, lines))
    if not hunks and move_to is None:
        raise ToolError(f"the patch says nothing of what changes in {path}")
    return Update(path, tuple(hunks), move_to)


def _hunk(path: str, lines: _Lines) -> Hunk:
    number, above, found, bare = lines.number, list[str](), list[tuple[Kind, str]](), list[bool]()
    at_end = False
    while (line := lines.peek()) is not None and (line == "@@" or line.startswith("@@ ")):
        if header := lines.next()[3:].strip():
            above.append(header)
    while (line := lines.peek()) is not None and not line.startswith(("@@", "*** ")):
        if line and line[0] not in _KINDS:
            raise _wrong(lines.number, line, f'each line of a hunk of {path} begins with " ", "-" or "+"')
        lines.next()
        found.append((_KINDS[line[0]], line[1:]) if line else (" ", ""))
        bare.append(not line)
    while found and bare[-1]:  # empty lines that only separate the hunk from what comes next
        del found[-1], bare[-1]
    if line is not None and line.rstrip() == "*** End of File":
        lines.next()
        at_end = True
    elif line is not None and line.startswith("*** ") and not _OPERATION.fullmatch(line.rstrip()):
        raise _wrong(lines.number, line, f"expected a line of a hunk of {path}, or the next file")
    if not any(kind != " " for kind, _ in found):
        raise ToolError(f"line {number} of the patch: this hunk of {path} changes nothing")
    return Hunk(tuple(found), tuple(above), at_end, number)


def _wrong(number: int, line: str, why: str) -> ToolError:
    shown = line if len(line) <= 100 else line[:100] + "..."
    return ToolError(f"line {number} of the patch, {shown!r}: {why}")
