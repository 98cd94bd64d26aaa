"""Events to JSON and back, in two stages: the envelope first, the payload when someone needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec

from .events import SCHEMA_VERSION, Event, KnownEvent, UnknownEvent

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[tuple[int, str], Upcaster] = {}
"""By schema version and type: how a record of that version becomes one of the next."""

_KNOWN = frozenset(kind.__name__ for kind in get_args(KnownEvent))


class Envelope(msgspec.Struct, frozen=True):
    """The first stage: what ordering and filtering need; the payload is not looked at."""

    type: str
    id: str
    seq: int = 0
    source: str = "environment"


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)
_events: msgspec.json.Decoder[Any] = msgspec.json.Decoder(KnownEvent)
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FRAME_FIELDS = ("i", "n", "durable", "crc")


def encode(event: Event) -> bytes:
    """One flat JSON object; the JSON of an unknown event is given back as it came."""
    return bytes(event.raw) if isinstance(event, UnknownEvent) else _encoder.encode(event)


def decode_envelope(record: bytes) -> Envelope:
    """The envelope of a record. Raises `msgspec.DecodeError` or `UnicodeDecodeError` when it is no event."""
    return _envelopes.decode(record)


def decode(record: bytes, version: int = SCHEMA_VERSION) -> Event:
    """The event of a record written under schema `version`. Raises as `decode_envelope` does."""
    if version < SCHEMA_VERSION:
        record = _upcast(record, version)
    try:
        event: Event = _events.decode(record)
    except msgspec.ValidationError:
        envelope = _envelopes.decode(record)
        if envelope.type in _KNOWN:
            raise
        return _unknown(record, envelope)
    return event


def _unknown(record: bytes, envelope: Envelope) -> UnknownEvent:
    fields = {name: raw for name, raw in _objects.decode(record).items() if name not in _FRAME_FIELDS}
    return UnknownEvent(id=envelope.id, seq=envelope.seq, kind=envelope.type, raw=msgspec.Raw(_encoder.encode(fields)))


def _upcast(record: bytes, version: int) -> bytes:
    fields = msgspec.json.decode(record)
    for step in range(version, SCHEMA_VERSION):
        if upcaster := UPCASTERS.get((step, fields["type"])):
            fields = upcaster(fields)
    return _encoder.encode(fields)
