"""Memos beside a log: `memo.bin`, the last state and the end of each record. A cache that may be missing or outdated.

The first line is the CRC-32 of the rest, in hexadecimal; then MessagePack.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import msgspec

from ..errors import LogCorrupt
from ..events import SCHEMA_VERSION
from ..memo import Memo, memo, recalled
from ..state import State
from .disk import replace_file
from .framing import whole
from .reading import EVENTS, Part, load

MEMO = "memo.bin"

VERSION = 12
"""Version of the layout below; a memo with another version is ignored."""


class _Part(msgspec.Struct, frozen=True, array_like=True):
    directory: str
    after: int
    ends: bytes


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    schema: int
    memo: Memo
    parts: list[_Part]
    last: bytes
    """The end of the last record, with its checksum."""


_decoder = msgspec.msgpack.Decoder(_Stored)


def write_memo(directory: Path, state: State, parts: Sequence[Part]) -> None:
    """Replace the memo in a conversation's directory, whose log must be durable; for a thread. Raises `OSError`.

    It is not synced: parts lost in a crash can be rebuilt.
    """
    made = memo(state)
    if made is None or parts[-1].last != state.seq:
        return
    stored = _Stored(
        version=VERSION,
        schema=SCHEMA_VERSION,
        memo=made,
        parts=[_Part(part.path.parent.name, part.after, part.ends.tobytes()) for part in parts],
        last=_last(parts[-1]),
    )
    data = msgspec.msgpack.encode(stored)
    replace_file(directory / MEMO, b"%08x\n" % crc32(data) + data)


def read_memo(directory: Path) -> tuple[State, list[Part]] | None:
    """Return the state and the parts of a log from its memo, if that still matches; for a thread.

    The records that the memo covers were durable when it was written. Only the last one is checked here: each is
    checked when it is read.
    """
    with contextlib.suppress(OSError, ValueError, LogCorrupt):
        if (stored := _stored(directory)) is None:
            return None
        parts = [
            Part(directory.parent / part.directory / EVENTS, part.after, array("Q", part.ends)) for part in stored.parts
        ]
        if _last(parts[-1]) == stored.last:
            return recalled(stored.memo, load(parts, stored.memo.events)), parts
    return None


def known_seq(directory: Path) -> int:
    """Return the last seq of a memo, which was durable when the memo was written; 0 if there is none. For a thread."""
    stored = _stored(directory)
    return 0 if stored is None else stored.memo.seq


def _stored(directory: Path) -> _Stored | None:
    """Return the content of a memo, whether it matches the log or not; None if it cannot be read."""
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        data = (directory / MEMO).read_bytes()
        if data[:9] != b"%08x\n" % crc32(memoryview(data)[9:]):
            return None
        stored = _decoder.decode(memoryview(data)[9:])
        if (stored.version, stored.schema, stored.parts[-1].directory) == (VERSION, SCHEMA_VERSION, directory.name):
            return stored  # else it is of another version, or of the conversation that this is a copy of
    return None


def _last(part: Part) -> bytes:
    """Return the end of a part's last record. Raises `OSError`, or `ValueError` if there is no record at its place."""
    begin, end = part.place(part.last)
    with part.path.open("rb") as file:
        file.seek(begin)
        line = file.read(end - begin)
    if not whole(line):
        raise ValueError("the last record is damaged")
    return line[-256:]
