"""The events behind a view. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..events import Condensation, Event
from ..state import Seen, summarized


def viewed(view: Iterable[Seen], events: Mapping[int, Event]) -> list[Event]:
    """The events of places in a view, from those of the log by seq: a condensation stands there as its summary."""
    found = (events[seen.seq] for seen in view)
    return [summarized(event) if isinstance(event, Condensation) else event for event in found]
