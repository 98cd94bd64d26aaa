"""Enforces a conversation's quota. Pure.

Running work ends normally, so that nothing is left open: a run stops before its next model call, and no message or run
is accepted. From a tenth above the quota on, no event of a person is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LimitReached
from ..events import Event, MessageEvent, RunRequested
from ..specs.quota import Quota
from .commands import CallModel, Command, Stop

SLACK = 1.1
"""The factor by which a conversation may exceed its quota so that its history can be closed: answers, names, pauses."""


def full(quota: Quota, events: int, size: int, slack: float = 1.0) -> tuple[str, str] | None:
    """Return the code of the exhausted part of a quota, and an explanation; None if there is room."""
    if quota.events is not None and events >= quota.events * slack:
        return "max_events", f"the conversation has {events:,} events, of {quota.events:,} that it may have here"
    if quota.bytes is not None and size >= quota.bytes * slack:
        return "max_bytes", f"the conversation takes {size:,} bytes, of {quota.bytes:,} that it may take here"
    return None


def within(quota: Quota, events: int, size: int, due: Sequence[Command]) -> Sequence[Command]:
    """Return the due commands; a `Stop` of the run replaces a model call for which there is no room."""
    if (reached := full(quota, events, size)) is None:
        return due
    code, why = reached
    detail = f"{why}: go on in a new one"
    return [Stop(f"stop-{code}-{events}", code, detail) if isinstance(each, CallModel) else each for each in due]


def admit(quota: Quota, events: int, size: int, given: Sequence[Event]) -> None:
    """Check that there is room for a person's events. Raises `LimitReached`."""
    if not any(event.source == "user" for event in given):
        return
    begins = any(isinstance(event, (MessageEvent, RunRequested)) for event in given)
    if (reached := full(quota, events, size, 1.0 if begins else SLACK)) is not None:
        raise LimitReached(*reached)
