"""Batches: which calls of one reply may begin, in parallel or in sequence."""

from __future__ import annotations

from collections.abc import Sequence

from .parts import Pending

EVERYTHING = "*"
"""The resource key that all calls share."""

FILE = "file:"
"""The beginning of the resource key of a file."""

ANY_FILE = "file:*"
"""The resource key of a call that may touch any file, such as a command. It is shared with each file, but not with
other calls of this kind.
"""


def beginnable(pending: Sequence[Pending], side_by_side: int) -> tuple[Pending, ...]:
    """Return the actions that may begin now: not begun yet, here or elsewhere, and without a resource in common with an
    earlier action, as many as there is room for. An action whose code waits for its own calls takes no room meanwhile,
    and later actions do not begin before those calls.
    """
    inner = tuple(p for p in pending if p.action.within is not None)
    waits = {p.action.within for p in inner}
    room = side_by_side - sum(p.command is not None and p.action.id not in waits for p in pending)
    if inner:
        at_work = [p for p in pending if p.action.within is None and p.command is not None and p.action.id not in waits]
        if begin := _in_order((*at_work, *inner)):
            return begin[: max(room, 0)]
    return _in_order(pending)[: max(room, 0)]


def _in_order(pending: Sequence[Pending]) -> tuple[Pending, ...]:
    taken: set[str] = set()
    found: list[Pending] = []
    for place, p in enumerate(pending):
        touches = p.action.resources
        if EVERYTHING in taken:
            break
        free = place == 0 if EVERYTHING in touches else not _share(taken, touches)
        if p.command is None and not p.awaited and free:
            found.append(p)
        taken.update(touches)
    return tuple(found)


def _share(taken: set[str], touches: Sequence[str]) -> bool:
    one, other = taken - {ANY_FILE}, {key for key in touches if key != ANY_FILE}
    return (
        not one.isdisjoint(other)
        or (ANY_FILE in taken and any(key.startswith(FILE) for key in other))
        or (ANY_FILE in touches and any(key.startswith(FILE) for key in one))
    )
