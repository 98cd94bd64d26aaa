"""What all formats share: JSON as providers send it, and errors in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.wires import error_in
from agentrt.llm.wires.format import cache_key, read

pytestmark = pytest.mark.pure

ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any)
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(), st.lists, max_leaves=8)


@given(VALUES, st.booleans())
def test_sound_json_is_read_as_it_is(value: Any, ascii: bool) -> None:
    assert read(ANY, json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (rb'["a\ud83d", "\ude00b"]', ["a\ufffd", "\ufffdb"]),
        (rb'["\ud83d\ude00\ud83d"]', ["😀\ufffd"]),
        (rb'["\\ud83d", "\ud83d"]', [r"\ud83d", "\ufffd"]),
        (b'["\xf0\x9f", "\x98\x80"]', ["\ufffd", "\ufffd\ufffd"]),
    ],
)
def test_half_a_character_is_read_as_one_that_is_unknown(sent: bytes, meant: list[str]) -> None:
    assert read(ANY, sent) == meant


@pytest.mark.parametrize("sent", [b"", b"{", b'{"a": }', b"<html>", b"[" * 100_000, b"nul"])
def test_what_is_no_json_is_an_error_of_one_kind(sent: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read(ANY, sent)
    assert isinstance(error_in(sent).said, str)


@pytest.mark.parametrize(
    ("body", "said", "status"),
    [
        ({"error": {"message": "Busy.", "type": "overloaded_error"}}, "Busy.", 529),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow."}}, "Slow.", 429),
        ({"error": {"message": "Down.", "code": 502}}, "Down.", 502),
        ({"error": {"message": "Down.", "code": "502"}}, "Down.", 502),
        ({"error": {"message": "Own number.", "code": 1302}}, "Own number.", 0),
        ({"error": {"message": "Odd.", "code": True}}, "Odd.", 0),
        ({"error": "Text."}, "Text.", 0),
        ({"detail": "Not found."}, "Not found.", 0),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow."}, "Slow.", 429),
        ({"error": {"code": "insufficient_quota"}}, "insufficient_quota", 402),
        ({"error": [1]}, '{"error":[1]}', 0),
        ({}, "{}", 0),
    ],
)
def test_an_error_is_read_in_every_envelope(body: dict[str, Any], said: str, status: int) -> None:
    error = error_in(msgspec.json.encode(body))
    assert (error.said, error.status) == (said, status)


@given(st.binary(max_size=200) | VALUES.map(msgspec.json.encode))
def test_any_bytes_tell_of_an_error(body: bytes) -> None:
    assert isinstance(error_in(body).said, str)


@given(st.text(min_size=1, max_size=200))
def test_a_key_of_the_cache_is_short_and_always_the_same(conversation: str) -> None:
    assert len(cache_key(conversation)) <= 64
    assert cache_key(conversation) == cache_key(conversation)
