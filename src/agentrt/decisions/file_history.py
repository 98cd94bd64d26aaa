"""`FileHistory`: what the files of a workspace were at a place in the log, and what people changed there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from ..events import Event, FilesRestored, WorkspaceSnapshot

Kept: TypeAlias = WorkspaceSnapshot | FilesRestored
"""The events that name a tree."""


By: TypeAlias = Literal["agent", "people", "rewind"]


class Moment(msgspec.Struct, frozen=True):
    """The files as they were after event `seq`; without a tree they were not kept from there on."""

    seq: int
    tree: str
    by: By
    """Who may have changed them since the moment before."""
    time: datetime


class FileHistory(msgspec.Struct, frozen=True):
    """The moments of a conversation, in their order."""

    moments: tuple[Moment, ...] = ()

    def at(self, seq: int) -> Moment | None:
        """The files as they were after an event; None where none were kept.

        What people changed between two steps of the agent was there at all events between those.
        """
        place = self._place(seq)
        return None if place is None or not self.moments[place].tree else self.moments[place]

    def by_others(self, seq: int) -> list[tuple[str, str]]:
        """The pairs of trees between which others than the agent changed files, since they were as after an event."""
        place = self._place(seq)
        if place is None:
            return []
        kept = [moment for moment in self.moments[place:] if moment.tree]
        return [(one.tree, other.tree) for one, other in pairwise(kept) if other.by == "people"]

    def between(self, since: int, until: int) -> Sequence[Moment]:
        """The moments from the files as they were after one event to those after another; none where none were kept."""
        first, last = self._place(since), self._place(until)
        if first is None or last is None:
            return ()
        return [moment for moment in self.moments[first : last + 1] if moment.tree]

    def _place(self, seq: int) -> int | None:
        if not self.moments:
            return None
        place = sum(moment.seq <= seq for moment in self.moments) - 1
        after = place + 1
        if place >= 0 and not self.moments[place].tree:
            return place  # what the agent did then is not known
        if place < 0 or (after < len(self.moments) and self.moments[after].by == "people"):
            return after
        return place


def file_history(events: Iterable[Event]) -> FileHistory:
    """The history of the files, from the events of a log."""
    return FileHistory(tuple(_moment(event) for event in events if isinstance(event, Kept) and _tells(event)))


def _moment(event: Kept) -> Moment:
    if isinstance(event, FilesRestored):
        return Moment(event.seq, event.tree, "rewind", event.timestamp)
    return Moment(event.at, event.tree, "people" if event.when == "before" else "agent", event.timestamp)


def _tells(event: Kept) -> bool:
    return bool(event.tree) or (isinstance(event, WorkspaceSnapshot) and bool(event.off))
