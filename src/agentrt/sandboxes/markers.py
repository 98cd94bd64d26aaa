"""Finds where a shell's command begins and ends in the bytes of its terminal. Pure.

The shell prints RS TOKEN "-" CALL ">" US before a command and RS TOKEN "-" CALL ":" exit-code ":" directory US after it
(RS = 0x1e, US = 0x1f); what is outside of the two is prompt and not output. The number of the call may be missing. Its
prompt is the marker of an end, too, with ";" before the exit code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """A command has ended: its exit code, and the directory that the shell is in.

    `begun` is false when none had begun: the shell's first prompt, or that after a line that was typed ahead. `call` is
    the number of the shell's last call, where it knows one, and `prompt` is true when its prompt says so.
    """

    exit_code: int
    directory: str
    begun: bool = True
    call: int | None = None
    prompt: bool = False


class Markers:
    """Splits a stream into output and ends; a marker may be cut anywhere between two chunks."""

    def __init__(self, token: str) -> None:
        name = re.escape(token.encode())
        self._whole = re.compile(rb"\x1e" + name + rb"(?:-(\d+))?(?:(>)|([:;])(-?\d+):([^\x1f]*))\x1f", re.DOTALL)
        self._cut = re.compile(rb"\x1e" + name + rb"(?:-\d*)?(?:>|[:;]-?\d*|[:;]-?\d+:[^\x1f]*)?\Z", re.DOTALL)
        self._start = b"\x1e" + token.encode()
        self._rest = b""
        self._inside = False
        self._call: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | Ended]:
        """What the new bytes bring."""
        data, self._rest = self._rest + data, b""
        found: list[bytes | Ended] = []
        place = 0
        for match in self._whole.finditer(data):
            self._output(found, data[place : match.start()])
            place = match.end()
            call, begins, says, code, directory = match.groups()
            if begins is not None:
                self._inside, self._call = True, call
            elif not (self._inside and call and self._call and call != self._call):  # else it comes late
                place_name, number = directory.decode(errors="replace"), int(call) if call else None
                found.append(Ended(int(code), place_name, self._inside, number, says == b";"))
                self._inside = False
        end = self._settled(data, place)
        self._rest = data[end:]
        self._output(found, data[place:end])
        return found

    def _settled(self, data: bytes, place: int) -> int:
        """Up to where more bytes change nothing: the beginning of a marker that they may complete, or the end."""
        if cut := self._cut.search(data, place):
            return cut.start()
        last = data.rfind(b"\x1e", place)
        return last if last >= 0 and self._start.startswith(data[last:]) else len(data)

    def _output(self, found: list[bytes | Ended], data: bytes) -> None:
        if data and self._inside:
            found.append(data)
