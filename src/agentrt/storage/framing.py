"""The record format: one JSON object on each line, with its position and a checksum. Pure: bytes in, records out.

    {"i":1,"n":2,"durable":5,"type":"MessageEvent","seq":6,"id":...,...,"crc":"1c291ca3"}

`i` of `n` is the record's position in its batch, which is valid only as a whole. `durable` is the highest seq known to
be synced when the record was written. From schema version 2 on, `v` is that version, before `type`. `crc` is the CRC-32
(ISO 3309, as in zlib) of the bytes of the line before `,"crc"`.

The event of a record is the text from `"type"` to before `,"crc"`, in braces: `cut` returns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from zlib import crc32

import msgspec

from ..codec import decode, encode, is_current
from ..errors import LogCorrupt
from ..events import SCHEMA_VERSION, Event

_TAIL = len(b',"crc":"00000000"}\n')


class Place(msgspec.Struct, frozen=True, gc=False):
    """A record's position: its event's seq, and the members that framing adds."""

    seq: int
    i: int
    n: int
    durable: int


_SCHEMA = b'"v":%d,' % SCHEMA_VERSION if SCHEMA_VERSION > 1 else b""
_places = msgspec.json.Decoder(Place)
_HEAD = re.compile(rb'\{"i":(\d+),"n":(\d+),"durable":(\d+),(?:"v":(\d+),)?(?="type":"(\w+)","seq":(\d+),)')
"""The beginning of a record in this writer's form: its position, and where its event begins, without parsing the rest.
"""


def frame(events: Sequence[Event], durable: int) -> list[bytes]:
    """Return the lines of a batch of numbered events."""
    return frame_json([encode(event) for event in events], durable)


def frame_json(encoded: Sequence[bytes], durable: int) -> list[bytes]:
    """Return the lines of a batch of numbered events, encoded with `codec.encode`."""
    n = len(encoded)
    lines = []
    for i, event in enumerate(encoded, 1):
        body = b'{"i":%d,"n":%d,"durable":%d,%s%s' % (i, n, durable, _SCHEMA, event[1:-1])
        lines.append(b'%s,"crc":"%08x"}\n' % (body, crc32(body)))
    return lines


def cut(line: bytes) -> bytes:
    """Return the event of a whole record as JSON: the bytes of the line, without the members that framing adds.

    An event that an upcaster changes, or whose record has another form, is decoded and encoded instead.
    """
    head = _HEAD.match(line)
    if head is None or not is_current(head[5].decode(), int(head[4] or 1)):
        return encode(decode(line))
    return b"{%s}" % memoryview(line)[head.end() : -_TAIL]


def whole(line: bytes) -> bool:
    """Return whether a line has the right checksum."""
    if len(line) <= _TAIL or line[-1:] != b"\n" or line[-_TAIL : -_TAIL + 8] != b',"crc":"' or line[-3:] != b'"}\n':
        return False
    return line[-11:-3] == b"%08x" % crc32(memoryview(line)[:-_TAIL])


def place(line: bytes) -> Place | None:
    """Return the position of a line; None if it is damaged, or not a record."""
    if not whole(line):
        return None
    if head := _HEAD.match(line):
        return Place(int(head[6]), int(head[1]), int(head[2]), int(head[3]))
    try:
        return _places.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def scan(lines: Iterable[bytes], path: Path, after: int = 0, before: int = 0) -> Iterator[list[bytes]]:
    """Return the whole batches of a log that follow seq `after`, with `before` lines before; the rest is incomplete.

    Raises `LogCorrupt` if a later record proves that a damaged place was durable.
    """
    number, batch = 0, list[bytes]()
    rest = iter(lines)
    for number, line in enumerate(rest, 1):
        here = place(line)
        if here is None or here.seq != after + number or here.i != len(batch) + 1 or here.i > here.n:
            kept = number - 1 - len(batch)
            lines = chain((*batch, line), rest)
            _check_torn(lines, path, before + number, after + kept, repairable=before + kept > 0)
            return
        batch.append(line)
        if here.i == here.n:
            yield batch
            batch = []


def _check_torn(lines: Iterable[bytes], path: Path, damaged: int, good: int, *, repairable: bool) -> None:
    for line in lines:
        later = place(line) or _joined(line)
        if later is not None and later.durable > good:
            why = f"record {damaged} is damaged, though record {later.seq} says that it was durable"
            raise LogCorrupt(path, damaged, why, good, repairable=repairable)


def _joined(line: bytes) -> Place | None:
    """Return the record at the end of a line whose preceding newline was damaged."""
    start = line.rfind(b'{"i":')
    while start > 0:
        if (found := place(line[start:])) is not None:
            return found
        start = line.rfind(b'{"i":', 0, start)
    return None
