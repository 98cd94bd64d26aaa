"""`FileHistory`: the versions of a workspace's files at places in the log, and who changed the files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from ..events import Event, FilesRestored, WorkspaceSnapshot

Kept: TypeAlias = WorkspaceSnapshot | FilesRestored
"""The events that name a tree."""


By: TypeAlias = Literal["agent", "people", "rewind", "unknown"]


class Moment(msgspec.Struct, frozen=True):
    """The files as they were after event `seq`; without a `tree`, they were not kept from there on."""

    seq: int
    tree: str
    by: By
    """The origin of the changes since the previous moment, as far as known."""
    time: datetime
    calls: tuple[int, ...] = ()
    """The seqs of the agent's calls that ran since then."""
    writes: tuple[str, ...] | None = None
    """The paths that these calls declare to change; None: they do not declare them."""
    late: bool = False
    """Whether a call was already running while they were kept, and may have changed them."""

    def whose(self, path: str) -> By:
        """Return the author of a file's change since the previous moment."""
        if self.by != "agent" or self.writes is None:
            return self.by
        own = any(path == one or path.startswith(f"{one}/") for one in self.writes)
        return "agent" if own else "people"


class FileHistory(msgspec.Struct, frozen=True):
    """The moments of a conversation, in order."""

    moments: tuple[Moment, ...] = ()

    def at(self, seq: int) -> Moment | None:
        """Return the files as they were after an event; None if none were kept.

        People's changes between two steps of the agent count as there at all events between these steps.
        """
        place = self._place(seq)
        return None if place is None or not self.moments[place].tree else self.moments[place]

    def since(self, seq: int) -> Sequence[Moment]:
        """Return the moments with a tree, from the files as they were after an event on."""
        place = self._place(seq)
        return () if place is None else [moment for moment in self.moments[place:] if moment.tree]

    def between(self, since: int, until: int) -> Sequence[Moment]:
        """Return the moments with a tree, from the files as they were after one event to those after another; none if
        none were kept.
        """
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
            return place  # the agent's changes from there on are not known
        if place < 0 or (after < len(self.moments) and self.moments[after].by == "people"):
            return after
        return place


def file_history(events: Iterable[Event]) -> FileHistory:
    """Return the history of the files, from the events of a log."""
    moments = list[Moment]()
    for event in events:
        if isinstance(event, Kept) and _tells(event):
            moments.append(_moment(event, after=moments[-1] if moments else None))
    return FileHistory(tuple(moments))


def _moment(event: Kept, after: Moment | None) -> Moment:
    if isinstance(event, FilesRestored):
        return Moment(event.seq, event.tree, "rewind", event.timestamp)
    by: By = "people" if event.when == "before" else "agent"
    if event.late or not event.tree or (after is not None and not after.tree):
        by = "unknown"  # anyone may have made changes while none were kept
    return Moment(event.at, event.tree, by, event.timestamp, event.calls, event.writes, event.late)


def _tells(event: Kept) -> bool:
    return bool(event.tree) or (isinstance(event, WorkspaceSnapshot) and bool(event.off))
