"""Converts events to JSON and back, in two stages: the envelope first, the payload when it is needed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from .events import Event, KnownEvent, MessageEvent, ObservationEvent, Source, UnknownEvent
from .specs.flow import Label
from .specs.workspace import as_workspace
from .upcasters import CURRENT, Schema

_KNOWN = frozenset(kind.__name__ for kind in get_args(KnownEvent))


class Envelope(msgspec.Struct, frozen=True):
    """The first stage: the fields for ordering and filtering, without the payload."""

    type: str
    id: str
    seq: int = 0
    source: str = "environment"
    timestamp: datetime | None = None


class Line(msgspec.Struct, frozen=True, gc=False):
    """An event to be passed on: `data` is its JSON, as it stands in its line of the log."""

    seq: int
    id: str
    data: bytes


class _Outline(msgspec.Struct, frozen=True, gc=False):
    """The fields of a message or an observation that the fold needs."""

    type: str
    id: str
    timestamp: datetime
    seq: int = 0
    source: Source = "environment"
    action_id: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    is_error: bool = False
    partial: bool = False
    skills: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    fingerprint: int = 0
    found: tuple[str, ...] = ()
    tokens: int = 0


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)
_outlines = msgspec.json.Decoder(_Outline)
_events: msgspec.json.Decoder[Any] = msgspec.json.Decoder(KnownEvent, dec_hook=as_workspace)
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CONTENT = re.compile(rb'[^}]{0,80}"type":"(?:MessageEvent|ObservationEvent)"')
_VERSION = re.compile(rb'[^}]{0,80}"v":(\d+),"type":"')
_TYPE = re.compile(rb'[^}]{0,80}?"type":"(\w+)"')
_FRAME_FIELDS = ("i", "n", "durable", "v", "crc")


def encode(event: Event) -> bytes:
    """Return an event as one flat JSON object; for an unknown event, the JSON as it came."""
    return bytes(event.raw) if isinstance(event, UnknownEvent) else _encoder.encode(event)


def decode_envelope(record: bytes) -> Envelope:
    """Return the envelope of a record. Raises `msgspec.DecodeError` or `UnicodeDecodeError` if it is not an event."""
    return _envelopes.decode(record)


def decode(record: bytes, version: int | None = None, schema: Schema = CURRENT) -> Event:
    """Return the event of a record that was written under schema `version`, by default the one that it names. It is
    read under `schema`. Raises as `decode_envelope` does.
    """
    version = version_of(record) if version is None else version
    if _is_outdated(record, version, schema):
        record = _upcast(record, version, schema)
    try:
        event: Event = _events.decode(record)
    except msgspec.ValidationError:
        envelope = _envelopes.decode(record)
        if envelope.type in _KNOWN:
            raise
        return _unknown(record, envelope)
    return event


def is_current(kind: str, version: int) -> bool:
    """Return whether an event of a type that was written under schema `version` is read today as it was written."""
    return not any((step, kind) in CURRENT.upcasters for step in range(version, CURRENT.version))


def version_of(record: bytes) -> int:
    """Return the schema version under which a record was written; 1 if it names none."""
    found = _VERSION.match(record)
    return int(found[1]) if found else 1


def skim(record: bytes, schema: Schema = CURRENT) -> Event:
    """Return the event as the fold needs it: without the content of observations, and of messages that are not the
    agent's.

    Raises as `decode_envelope` does.
    """
    if _CONTENT.match(record) is None or _is_outdated(record, version_of(record), schema):
        return decode(record, schema=schema)
    seen = _outlines.decode(record)
    if seen.type == "MessageEvent" and seen.source == "agent":
        return decode(record, schema=schema)  # it may be the answer
    if seen.type == "MessageEvent":
        return MessageEvent(
            seq=seen.seq,
            id=seen.id,
            timestamp=seen.timestamp,
            source=seen.source,
            content=(),
            partial=seen.partial,
            skills=seen.skills,
            tokens=seen.tokens,
        )
    return ObservationEvent(
        seq=seen.seq,
        id=seen.id,
        timestamp=seen.timestamp,
        action_id=seen.action_id,
        tool_name=seen.tool_name,
        tool_call_id=seen.tool_call_id,
        content=(),
        is_error=seen.is_error,
        labels=seen.labels,
        fingerprint=seen.fingerprint,
        found=seen.found,
        skills=seen.skills,
        tokens=seen.tokens,
    )


def _is_outdated(record: bytes, version: int, schema: Schema) -> bool:
    """Return whether a record of that version must be converted by an upcaster."""
    if version >= schema.version:
        return False
    found = _TYPE.match(record)
    return found is None or any(step >= version and kind.encode() == found[1] for step, kind in schema.upcasters)


def _unknown(record: bytes, envelope: Envelope) -> UnknownEvent:
    fields = {name: raw for name, raw in _objects.decode(record).items() if name not in _FRAME_FIELDS}
    raw, made = msgspec.Raw(_encoder.encode(fields)), envelope.timestamp or datetime.fromtimestamp(0, UTC)
    return UnknownEvent(id=envelope.id, seq=envelope.seq, timestamp=made, kind=envelope.type, raw=raw)


def _upcast(record: bytes, version: int, schema: Schema) -> bytes:
    fields = msgspec.json.decode(record, type=dict[str, Any])
    try:
        for step in range(version, schema.version):
            if upcaster := schema.upcasters.get((step, fields["type"])):
                fields = upcaster(fields)
    except (KeyError, TypeError) as error:
        raise msgspec.ValidationError(f"a record of version {version} has no {error}") from error
    return _encoder.encode(fields)
