"""Where a view may be cut, and what the simplest condensation forgets."""

from __future__ import annotations

from collections.abc import Sequence

from ..events import Condensation
from ..state import Seen


def cuts(view: Sequence[Seen]) -> list[int]:
    """The positions between which events may be forgotten: no call is parted from its batch or its result."""
    open_calls: set[str] = set()
    legal: list[int] = []
    for position, seen in enumerate(view):
        if not open_calls and not seen.action_id:
            legal.append(position)
        if seen.type == "ActionEvent":
            open_calls.add(seen.id)
        open_calls.discard(seen.action_id)
    if not open_calls:
        legal.append(len(view))
    return legal


def kept(view: Sequence[Seen]) -> int:
    """How many events at the start are never forgotten: the system prompt, and all up to the first message."""
    return next((position + 1 for position, seen in enumerate(view) if seen.type == "MessageEvent"), 1)


def forget_older_half(view: Sequence[Seen]) -> Condensation | None:
    """A condensation that drops the older half and says so; None when there is nothing left to drop.

    It calls no model: what was dropped stays in the log, and the summary names how much it was.
    """
    first = kept(view)
    legal = [position for position in cuts(view) if position > first]
    goal = first + (len(view) - first) // 2
    ends = [position for position in legal if position <= max(goal, legal[0] if legal else 0)]
    if not ends or ends[-1] >= len(view):
        return None
    forgotten = view[first : ends[-1]]
    messages = sum(seen.type == "MessageEvent" for seen in forgotten)
    actions = sum(seen.type == "ActionEvent" for seen in forgotten)
    summary = (
        f"[Here {actions} earlier actions and {messages} messages were dropped, unsummarized, to fit the context."
        " Look again at what you need to know.]"
    )
    return Condensation(forgotten_event_ids=tuple(seen.id for seen in forgotten), summary=summary)
