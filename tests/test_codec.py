"""Events to JSON and back."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import codec
from agentrt.codec import decode, decode_envelope, encode
from agentrt.events import SCHEMA_VERSION, Event, MessageEvent, UnknownEvent
from agentrt.specs.content import text
from tests import samples

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("event", samples.numbered(samples.every_event()), ids=lambda e: f"{e.seq}-{type(e).__name__}")
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert decode(encode(event), SCHEMA_VERSION) == event


@given(st.text(), st.text(), st.integers(0, 2**53))
def test_any_text_comes_back(words: str, by: str, seq: int) -> None:
    event = MessageEvent(source="user", content=text(words), by=by, seq=seq)
    assert decode(encode(event)) == event


def test_the_envelope_is_read_without_the_payload() -> None:
    record = b'{"type":"MessageEvent","seq":4,"id":"x","source":"user","content":"not even a list"}'
    assert decode_envelope(record) == codec.Envelope(type="MessageEvent", id="x", seq=4, source="user")


def test_an_event_is_one_flat_object_named_by_its_class() -> None:
    event = json.loads(encode(samples.message("hi")))
    assert event["type"] == "MessageEvent"
    assert event["content"] == [{"type": "text", "text": "hi"}]


def test_an_event_of_a_type_to_come_is_kept_and_passed_on() -> None:
    record = b'{"i":1,"n":1,"durable":0,"type":"DreamEvent","seq":7,"id":"x","dream":{"of":["sheep"]},"crc":"00000000"}'
    event = decode(record)
    assert isinstance(event, UnknownEvent)
    assert (event.kind, event.seq, event.id) == ("DreamEvent", 7, "x")
    again = json.loads(encode(event))
    assert again == {"type": "DreamEvent", "seq": 7, "id": "x", "dream": {"of": ["sheep"]}}


def test_a_known_type_with_a_broken_payload_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"type":"MessageEvent","id":"x","content":7}')


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"\xff\xfe", b'{"type":1}'])
def test_what_is_no_event_is_an_error(record: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        decode(record)
