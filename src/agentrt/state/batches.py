"""Batches: which calls of one reply may begin, side by side or one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from .parts import Pending

EVERYTHING = "*"
"""The resource key that every call shares."""


def beginnable(pending: Sequence[Pending], side_by_side: int) -> tuple[Pending, ...]:
    """Those that have not begun, here or elsewhere, and share no resource with an earlier one, as many as there is room
    for.
    """
    room = side_by_side - sum(p.command is not None for p in pending)
    taken: set[str] = set()
    found: list[Pending] = []
    for place, p in enumerate(pending):
        touches = p.action.resources
        if EVERYTHING in taken:
            break
        free = place == 0 if EVERYTHING in touches else taken.isdisjoint(touches)
        if p.command is None and not p.awaited and free:
            found.append(p)
        taken.update(touches)
    return tuple(found[: max(room, 0)])
