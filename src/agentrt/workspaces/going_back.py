"""`GoingBack`: which changes since a moment are undone, and which stay. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from ..decisions.file_history import Moment
from ..events import ChangedDuring
from .tree_listing import Change

MOST_NAMED = 100
"""Maximum number of files named that changed while certain calls ran."""


class GoingBack(msgspec.Struct, frozen=True):
    """`theirs` are the changes that stay, in their order; `unknown` are their paths whose last author is unknown.
    `during` are calls that do not say what they write, each group with the paths that changed while it ran.
    """

    theirs: tuple[Change, ...] = ()
    unknown: frozenset[str] = frozenset()
    during: tuple[tuple[tuple[int, ...], frozenset[str]], ...] = ()

    def told(self, done: Collection[str]) -> tuple[ChangedDuring, ...]:
        """Return the groups of `during` with those of their paths that were restored (`done`)."""
        found = [(calls, sorted(paths.intersection(done))) for calls, paths in self.during]
        return tuple(
            ChangedDuring(calls=calls, paths=tuple(paths[:MOST_NAMED]), count=len(paths))
            for calls, paths in found
            if paths
        )


def going_back(moments: Sequence[Moment], steps: Sequence[Sequence[Change]]) -> GoingBack:
    """Return what is undone; `steps` has the changes up to each moment since the one before."""
    theirs, unknown = list[Change](), set[str]()
    during = list[tuple[tuple[int, ...], frozenset[str]]]()
    for moment, step in zip(moments, steps, strict=True):
        for change in step:
            by = moment.whose(change.path)
            if by in ("people", "unknown"):
                theirs.append(change)
                (unknown.add if by == "unknown" else unknown.discard)(change.path)
        if moment.by == "agent" and moment.writes is None:
            during.append((moment.calls, frozenset(change.path for change in step)))
    return GoingBack(tuple(theirs), frozenset(unknown), tuple(during))
