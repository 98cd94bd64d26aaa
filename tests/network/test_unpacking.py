"""Compressed bodies in bounded pieces."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.network.unpacking import PIECE, Unpacking

pytestmark = pytest.mark.pure


def bare(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(data) + packing.flush()


WAYS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "x-gzip": gzip.compress,
    "": bytes,
}


@given(st.binary(max_size=5000).map(lambda data: data * 40), st.sampled_from(sorted(WAYS)), st.integers(1, 3000))
def test_what_was_packed_comes_out_in_whatever_pieces_it_comes(data: bytes, way: str, size: int) -> None:
    packed, unpacking = WAYS[way](data), Unpacking(way)
    pieces = [out for at in range(0, len(packed), size) for out in unpacking.feed(packed[at : at + size])]
    assert b"".join(pieces) == data
    assert all(len(piece) <= PIECE for piece in pieces) or way == ""


@given(st.binary(min_size=1, max_size=2000), st.integers(1, 50))
def test_deflate_without_its_head_is_understood(data: bytes, size: int) -> None:
    packed, unpacking = bare(data * 20), Unpacking("deflate")
    assert b"".join(out for at in range(0, len(packed), 4096) for out in unpacking.feed(packed[at : at + 4096])) == (
        data * 20
    )


def test_several_files_of_gzip_in_a_row_are_one() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"b") + b"\0" * 10
    assert b"".join(Unpacking("gzip").feed(packed)) == b"ab"


def test_a_bomb_comes_piece_by_piece() -> None:
    bomb = gzip.compress(bytes(64 << 20))
    unpacked = Unpacking("gzip").feed(bomb)
    assert [len(next(unpacked)) for _ in range(3)] == [PIECE] * 3


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "odd"])
def test_what_was_not_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(ValueError, match="not asked for"):
        Unpacking(coding)


@given(st.binary(min_size=20, max_size=200).filter(lambda data: data[0] != 0x1F))
def test_what_is_damaged_is_said_to_be(data: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        list(Unpacking("gzip").feed(data))
