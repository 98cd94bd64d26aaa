"""`Veil`: takes what is secret out of all that leaves a conversation: events, deltas, blobs and prompts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..codec import decode, encode
from ..context.messages import Message
from ..deltas import Channel
from ..events import SCHEMA_VERSION, Event
from ..secrets import SecretRegistry, StreamMask

_OF_A_KIND = frozenset({"type", "source", "role", "verdict", "risk", "status", "scope", "hook_event", "durability"})
"""Members that have one of a few words, which stay when a secret happens to be that word."""

_ENVELOPE = frozenset(
    {
        "type",
        "id",
        "seq",
        "timestamp",
        "source",
        "caused_by",
        "action_id",
        "action_ids",
        "child_id",
        "command",
        "target",
    }
)
"""Members of an event that the runtime goes by: no value has a place there."""


class Veil:
    """What a registry's mask does to each; what holds no secret stays the object that it is."""

    def __init__(self, secrets: SecretRegistry) -> None:
        self._secrets = secrets
        self._streams: dict[tuple[str, Channel], StreamMask] = {}

    @property
    def version(self) -> int:
        """Rises when there is more to hide."""
        return self._secrets.version

    def event(self, event: Event) -> Event:
        """An event as it may be logged."""
        mask = self._secrets.mask
        if not mask:
            return event
        raw = encode(event)
        if not mask.found_in(raw):
            return event
        fields = msgspec.json.decode(raw)
        clean = {name: value if name in _ENVELOPE else mask.json(value, _OF_A_KIND) for name, value in fields.items()}
        return decode(msgspec.json.encode(clean), SCHEMA_VERSION)

    def data(self, data: bytes) -> bytes:
        """Bytes as they may be stored."""
        return self._secrets.mask.data(data)

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """A prompt as it may be sent: what became a secret after it was said is hidden as well."""
        mask = self._secrets.mask
        if not mask or not mask.found_in(raw := msgspec.json.encode(list(messages))):
            return messages
        clean = mask.json(msgspec.json.decode(raw), _OF_A_KIND)
        return msgspec.convert(clean, list[Message])

    def piece(self, becomes: str, channel: Channel, piece: str) -> str:
        """What may be shown of a piece of what grows; the beginning of a secret is held back until it is none."""
        stream = self._streams.get((becomes, channel))
        if stream is None:
            if not self._secrets.mask:
                return piece
            stream = self._streams[becomes, channel] = StreamMask(self._secrets.mask)
        stream.mask = self._secrets.mask
        return stream.feed(piece)

    def forget(self, becomes: str, channel: Channel) -> None:
        """It grows no more."""
        self._streams.pop((becomes, channel), None)
