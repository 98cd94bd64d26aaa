"""`tree_in_packs`: reads a tree from the packs of a git directory (gitformat-pack(5)), without git. For a thread."""

from __future__ import annotations

import mmap
import zlib
from bisect import bisect_left
from hashlib import sha1
from pathlib import Path
from struct import Struct

_INDEX = b"\377tOc\0\0\0\2"
"""The first bytes of an index of version 2."""

_FANOUT, _FOUR, _EIGHT = Struct(">256I"), Struct(">I"), Struct(">Q")
_NAMES, _NAME = 8 + _FANOUT.size, 20
"""Where the ids begin, and the bytes of one."""

_TREE = 2


def tree_in_packs(directory: Path, name: str) -> bytes | None:
    """Return a tree with its header, as in a file of its own; None if no pack has it.

    Raises `OSError`, `ValueError` or `zlib.error` if it cannot be read, for example because it is a delta.
    """
    for index in (directory / "objects" / "pack").glob("*.idx"):
        if (offset := _offset(index, bytes.fromhex(name))) is not None:
            data = _tree(index.with_suffix(".pack"), offset)
            if sha1(data, usedforsecurity=False).hexdigest() != name:
                raise ValueError(f"{index.stem} has other bytes there")
            return data
    return None


def _offset(index: Path, name: bytes) -> int | None:
    """Return where an object begins in the pack of an index; None if it is not there."""
    with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[: len(_INDEX)] != _INDEX:
            raise ValueError(f"{index.name} is of another version")
        fanout = _FANOUT.unpack_from(data, len(_INDEX))
        first, last, count = fanout[name[0] - 1] if name[0] else 0, fanout[name[0]], fanout[-1]

        def name_at(place: int) -> bytes:
            return data[_NAMES + _NAME * place : _NAMES + _NAME * (place + 1)]

        place = bisect_left(range(count), name, first, last, key=name_at)
        if place == last or name_at(place) != name:
            return None
        offsets = _NAMES + (_NAME + 4) * count  # behind the ids and the checksums
        (found,) = _FOUR.unpack_from(data, offsets + 4 * place)
        if found >> 31:
            (found,) = _EIGHT.unpack_from(data, offsets + 4 * count + 8 * (found & 0x7FFFFFFF))
        return int(found)


def _tree(pack: Path, offset: int) -> bytes:
    with pack.open("rb") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        kind, size, shift = (byte >> 4) & 7, byte & 15, 4
        while byte & 0x80:
            byte = file.read(1)[0]
            size, shift = size | (byte & 0x7F) << shift, shift + 7
        if kind != _TREE:
            raise ValueError(f"{pack.name} has no whole tree there")
        body = zlib.decompressobj().decompress(file.read(size + size // 1000 + 64), size)
    return b"tree %d\0%s" % (size, body)
