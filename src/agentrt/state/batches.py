"""Batches: which calls of one reply may begin, side by side or one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from ..specs.tool import FINISH
from .parts import Pending

EVERYTHING = "*"
"""The resource key that every call shares."""


def beginnable(pending: Sequence[Pending], side_by_side: int) -> tuple[Pending, ...]:
    """Those that have not begun and share no resource with an earlier one, as many as there is room for.

    `finish` begins when the other calls have their results.
    """
    calls = [p for p in pending if p.action.tool_name != FINISH] or pending
    room = side_by_side - sum(p.command is not None for p in calls)
    taken: set[str] = set()
    found: list[Pending] = []
    for place, p in enumerate(calls):
        touches = p.action.resources
        if EVERYTHING in taken:
            break
        free = place == 0 if EVERYTHING in touches else taken.isdisjoint(touches)
        if p.command is None and free:
            found.append(p)
        taken.update(touches)
    return tuple(found[: max(room, 0)])
