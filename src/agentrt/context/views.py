"""The events behind a view. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..events import Event
from ..state import Seen, shown


def viewed(view: Iterable[Seen], events: Mapping[int, Event]) -> list[Event]:
    """Return the events of a view, given the log's events by seq: each as the view shows it (see `shown`)."""
    return [shown(events[seen.seq], seen) for seen in view]
