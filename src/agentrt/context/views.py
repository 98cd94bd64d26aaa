"""The events behind a view. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..events import Event
from ..state import Seen, shown


def viewed(view: Iterable[Seen], events: Mapping[int, Event]) -> list[Event]:
    """The events of places in a view, from those of the log by seq: a condensation stands there as its summary."""
    return [shown(events[seen.seq], seen) for seen in view]
