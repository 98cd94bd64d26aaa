"""Holds a conversation within its quota. Pure.

What is under way ends as it would, so that nothing is left open: a run is stopped before its next model call, nothing
new is begun, and a tenth beyond the quota a person can say nothing more either.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LimitReached
from ..events import Event, MessageEvent, RunRequested
from ..specs.quota import Quota
from .commands import CallModel, Command, Stop

SLACK = 1.1
"""How far beyond its quota a conversation may be for its history to be closed: answers, names, pauses."""


def full(quota: Quota, events: int, size: int, slack: float = 1.0) -> tuple[str, str] | None:
    """The part of a quota that is used up, as a code, and what to do about it; None when there is room."""
    if quota.events is not None and events >= quota.events * slack:
        return "max_events", f"the conversation has {events:,} events, of {quota.events:,} that it may have here"
    if quota.bytes is not None and size >= quota.bytes * slack:
        return "max_bytes", f"the conversation takes {size:,} bytes, of {quota.bytes:,} that it may take here"
    return None


def within(quota: Quota, events: int, size: int, due: Sequence[Command]) -> Sequence[Command]:
    """What is due, without a model call for which there is no room: the run ends there."""
    if (reached := full(quota, events, size)) is None:
        return due
    code, why = reached
    detail = f"{why}: go on in a new one"
    return [Stop(f"stop-{code}-{events}", code, detail) if isinstance(each, CallModel) else each for each in due]


def admit(quota: Quota, events: int, size: int, given: Sequence[Event]) -> None:
    """Whether there is room for what a person says. Raises `LimitReached`."""
    if not any(event.source == "user" for event in given):
        return
    begins = any(isinstance(event, (MessageEvent, RunRequested)) for event in given)
    if (reached := full(quota, events, size, 1.0 if begins else SLACK)) is not None:
        raise LimitReached(*reached)
