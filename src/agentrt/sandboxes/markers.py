"""Finds where a shell's command begins and ends in the bytes of its terminal. Pure.

The shell prints RS TOKEN ">" US before a command and RS TOKEN ":" exit-code ":" directory US after it (RS = 0x1e,
US = 0x1f); what is outside of the two is prompt and not output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """A command has ended: its exit code, and the directory that the shell is in."""

    exit_code: int
    directory: str


class Markers:
    """Splits a stream into output and ends; a marker may be cut anywhere between two chunks."""

    def __init__(self, token: str) -> None:
        name = re.escape(token.encode())
        self._whole = re.compile(rb"\x1e" + name + rb"(?:(>)|:(-?\d+):([^\x1f]*))\x1f", re.DOTALL)
        self._start = b"\x1e" + token.encode()
        self._rest = b""
        self._inside = False

    def feed(self, data: bytes) -> list[bytes | Ended]:
        """What the new bytes bring."""
        data, self._rest = self._rest + data, b""
        found: list[bytes | Ended] = []
        place = 0
        for match in self._whole.finditer(data):
            self._output(found, data[place : match.start()])
            place = match.end()
            self._inside = match[1] is not None
            if match[1] is None:
                found.append(Ended(int(match[2]), match[3].decode(errors="replace")))
        rest = data[place:]
        held = rest.rfind(b"\x1e")
        if held >= 0 and (self._start.startswith(rest[held:]) or rest[held:].startswith(self._start)):
            self._rest, rest = rest[held:], rest[:held]
        self._output(found, rest)
        return found

    def _output(self, found: list[bytes | Ended], data: bytes) -> None:
        if data and self._inside:
            found.append(data)
