"""The record format: one JSON object a line, with its place and a checksum. Pure: bytes in, records out.

    {"i":1,"n":2,"durable":5,"type":"MessageEvent","seq":6,"id":...,...,"crc":"1c291ca3"}

`i` of `n` is the record's place in its batch, which stands or falls whole. `durable` is the highest seq known to be
synced when the record was written. `crc` is the CRC-32 (ISO 3309, as in zlib) of the bytes of the line before
`,"crc"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import msgspec

from ..codec import encode
from ..errors import LogCorrupt
from ..events import Event

_TAIL = len(b',"crc":"00000000"}\n')


class Place(msgspec.Struct, frozen=True):
    """A record's place: its event's seq, and what framing adds."""

    seq: int
    i: int
    n: int
    durable: int


class Scan(msgspec.Struct, frozen=True):
    """A log file as recovery sees it: `good` whole batches of lines in the first `length` bytes, then a torn tail."""

    good: int
    length: int
    torn: int


_places = msgspec.json.Decoder(Place)


def frame(events: Sequence[Event], durable: int) -> list[bytes]:
    """The lines of a batch of numbered events."""
    n = len(events)
    lines = []
    for i, event in enumerate(events, 1):
        body = b'{"i":%d,"n":%d,"durable":%d,%s' % (i, n, durable, encode(event)[1:-1])
        lines.append(b'%s,"crc":"%08x"}\n' % (body, crc32(body)))
    return lines


def place(line: bytes) -> Place | None:
    """The place of a line; None when it is damaged, or no record."""
    if len(line) <= _TAIL or line[-1:] != b"\n" or line[-_TAIL : -_TAIL + 8] != b',"crc":"' or line[-3:] != b'"}\n':
        return None
    body = line[:-_TAIL]
    if line[-11:-3] != b"%08x" % crc32(body):
        return None
    try:
        return _places.decode(body + b"}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def scan(lines: Sequence[bytes], path: Path) -> Scan:
    """How much of a log is good. Raises `LogCorrupt` when a later record proves that a damaged place was durable."""
    good = length = 0
    batch_lines = batch_bytes = 0
    for number, line in enumerate(lines):
        here = place(line)
        if here is None or here.seq != number + 1 or here.i != batch_lines + 1 or here.i > here.n:
            break
        batch_lines, batch_bytes = batch_lines + 1, batch_bytes + len(line)
        if here.i == here.n:
            good, length = good + batch_lines, length + batch_bytes
            batch_lines = batch_bytes = 0
    for line in lines[good:]:
        later = place(line) or _joined(line)
        if later is not None and later.durable > good:
            damaged = next(_damaged(lines, good))
            raise LogCorrupt(
                path, damaged, f"record {damaged} is damaged, though record {later.seq} says that it was durable"
            )
    return Scan(good=good, length=length, torn=sum(map(len, lines)) - length)


def _joined(line: bytes) -> Place | None:
    """The record at the end of a line that is damaged where the newline before it was."""
    start = line.rfind(b'{"i":')
    while start > 0:
        if (found := place(line[start:])) is not None:
            return found
        start = line.rfind(b'{"i":', 0, start)
    return None


def _damaged(lines: Sequence[bytes], good: int) -> Iterator[int]:
    for number in range(good, len(lines)):
        here = place(lines[number])
        if here is None or here.seq != number + 1:
            yield number + 1
    yield good + 1
