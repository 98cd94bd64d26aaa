"""The searchable text of events. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..events import ActionEvent, AgentErrorEvent, Event, MessageEvent, ObservationEvent, UserRejectObservation
from ..specs.content import plain


def text_of(event: Event) -> tuple[str, str] | None:
    """Return the kind and the searchable text of an event; None if it has no text."""
    match event:
        case MessageEvent():
            return event.source, plain(event.content)
        case ActionEvent():
            return "action", "\n".join(filter(None, (event.thought, event.tool_name, *_arguments(event))))
        case ObservationEvent():
            return "observation", plain(event.content)
        case AgentErrorEvent():
            return "error", event.error
        case UserRejectObservation():
            return "rejection", event.rejection_reason
        case _:
            return None


def _arguments(action: ActionEvent) -> Iterator[str]:
    if action.malformed is not None:
        yield action.malformed
    try:
        yield from leaves(msgspec.json.decode(action.arguments_json))
    except msgspec.DecodeError:
        return


def leaves(value: object) -> Iterator[str]:
    """Yield the strings, numbers and booleans in a decoded JSON value, as strings."""
    match value:
        case dict():
            for inner in value.values():
                yield from leaves(inner)
        case list():
            for inner in value:
                yield from leaves(inner)
        case str() | int() | float():
            yield str(value)
