"""Finds the beginning and the end of each command in the bytes of a shell's terminal. Pure.

The shell prints RS TOKEN "-" CALL ">" US before a command and RS TOKEN "-" CALL ":" exit-code ":" directory US after it
(RS = 0x1e, US = 0x1f). Bytes outside of the two are the prompt, not output. "-" CALL, the number of the call, may be
missing. The prompt is an end marker, too, with ";" before the exit code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WHOLE = re.compile(rb"(?:-(\d+))?(?:(>)|([:;])(-?\d+):([^\x1f]*))\x1f", re.DOTALL)
_CUT = re.compile(rb"(?:-\d*)?(?:>|[:;]-?\d*|[:;]-?\d+:[^\x1f]*)?\Z", re.DOTALL)
"""What follows RS TOKEN in a whole marker, and in one that is not all there. To compile them takes a millisecond, so no
shell has its own.
"""


@dataclass(frozen=True)
class Ended:
    """The end of a command, with its exit code and the shell's directory.

    `begun` is false if no command had begun: at the shell's first prompt, or at the prompt after a line that was typed
    ahead. `call` is the number of the shell's last call, None if it has none. `prompt` is true if the prompt reported
    the end.
    """

    exit_code: int
    directory: str
    begun: bool = True
    call: int | None = None
    prompt: bool = False


class Markers:
    """Splits a stream into output and ends. A marker may be split anywhere between two chunks."""

    def __init__(self, token: str) -> None:
        self._start = b"\x1e" + token.encode()
        self._rest = b""
        self._inside = False
        self._call: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | Ended]:
        """Return the output and the ends in the next bytes of the stream."""
        data, self._rest = self._rest + data, b""
        found: list[bytes | Ended] = []
        place = 0
        for start, match in self._matches(data, 0):
            self._output(found, data[place:start])
            place = match.end()
            call, begins, says, code, directory = match.groups()
            if begins is not None:
                self._inside, self._call = True, call
            elif not (self._inside and call and self._call and call != self._call):  # else an earlier call's
                place_name, number = directory.decode(errors="replace"), int(call) if call else None
                found.append(Ended(int(code), place_name, self._inside, number, says == b";"))
                self._inside = False
        end = self._settled(data, place)
        self._rest = data[end:]
        self._output(found, data[place:end])
        return found

    def _settled(self, data: bytes, place: int) -> int:
        """Return the place up to which more bytes change nothing: the start of an incomplete marker, or the end."""
        for start, _ in self._matches(data, place, cut=True):
            return start
        last = data.rfind(b"\x1e", place)
        return last if last >= 0 and self._start.startswith(data[last:]) else len(data)

    def _matches(self, data: bytes, place: int, *, cut: bool = False) -> Iterator[tuple[int, re.Match[bytes]]]:
        """Yield the places from `place` on where whole markers are, or one that is cut, with what follows the token."""
        while (start := data.find(self._start, place)) >= 0:
            rest = start + len(self._start)
            if match := _CUT.match(data, rest) if cut else _WHOLE.match(data, rest):
                yield start, match
            place = match.end() if match else start + 1

    def _output(self, found: list[bytes | Ended], data: bytes) -> None:
        if data and self._inside:
            found.append(data)
