"""`GoingBack`: what goes back of that which has changed since some moment, and what stays. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from ..decisions.file_history import Moment
from ..events import ChangedDuring
from .tree_listing import Change

MOST_NAMED = 100
"""Files that are named of those which changed while some calls ran."""


class GoingBack(msgspec.Struct, frozen=True):
    """`theirs` are the changes that stay, in their order, `unknown` the paths of those of which nobody knows whose they
    are; `during` are the calls which do not say what they write, and what has changed while they ran.
    """

    theirs: tuple[Change, ...] = ()
    unknown: frozenset[str] = frozenset()
    during: tuple[tuple[tuple[int, ...], frozenset[str]], ...] = ()

    def told(self, done: Collection[str]) -> tuple[ChangedDuring, ...]:
        """What is told of those that went back."""
        found = [(calls, sorted(paths.intersection(done))) for calls, paths in self.during]
        return tuple(
            ChangedDuring(calls=calls, paths=tuple(paths[:MOST_NAMED]), count=len(paths))
            for calls, paths in found
            if paths
        )


def going_back(moments: Sequence[Moment], steps: Sequence[Sequence[Change]]) -> GoingBack:
    """What goes back, from what has changed up to each of the moments since the one before."""
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
