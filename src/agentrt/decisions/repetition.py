"""Repetition: whether an agent goes round in circles, by the fingerprints of its actions and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ..chain import Chain
from ..specs import StuckDetection
from ..state import Seen
from ..state.seeing import STANDING

WINDOW = 40
"""Minimum number of places of the view that are examined: twenty actions with their results."""

PLACES = 4
"""Approximate number of places that an action takes in the view: itself, its result, and hooks' messages about both."""

_RESULTS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
"""Of rejections, only those by rules and hooks are compared: a person's rejection has no fingerprint."""

Pair: TypeAlias = tuple[Seen, Seen | None]


class Repetition(msgspec.Struct, frozen=True):
    """A repetition: its pattern, how often it occurred, the limit, and the seq of its first event."""

    pattern: str
    times: int
    limit: int
    since: int

    @property
    def detail(self) -> str:
        """The repetition in words."""
        what = {
            "action_observation": "the same action gave the same result",
            "action_error": "the same action failed in the same way",
            "monologue": "messages came without any action",
            "alternating": "the same two actions took turns",
        }
        return f"{what[self.pattern]}, {self.times} times in a row"


def repetition(
    view: Chain[Seen], limits: StuckDetection, queued: Sequence[Seen] = (), nudged: int = 0, rearmed: int = 0
) -> Repetition | None:
    """Return the repetition at the end of a view with its queued events, if it is at least one less than the limit.

    `nudged` is the seq at which the agent was last warned; events up to the seq `rearmed` do not count.
    """
    if not (_may_repeat(view) or any(map(_complains, queued))):
        return None
    recent = [seen for seen in (*_since_the_user(view, limits), *queued) if seen.seq > rearmed]
    if (monologue := _monologue(recent, limits, nudged)) is not None:
        return monologue
    pairs = _pairs(recent)
    if len(pairs) < 2:
        return None
    return _same(pairs, limits) or _alternating(pairs, limits)


def _may_repeat(view: Chain[Seen]) -> bool:
    """Return False if the last action is like neither of the two before it: cheap, and enough for nearly every step."""
    actions: list[int] = []
    for seen in reversed(view.since(max(len(view) - 8, 0))):
        if seen.type == "ActionEvent":
            actions.append(seen.fingerprint)
            if len(actions) == 3:
                return actions[0] in actions[1:]
        elif seen.answer and not actions:
            return True
    return True


def _since_the_user(view: Chain[Seen], limits: StuckDetection) -> list[Seen]:
    longest = max(limits.action_observation, limits.action_error, limits.monologue, limits.alternating)
    recent = view.since(max(len(view) - max(WINDOW, PLACES * longest), 0))
    for place in range(len(recent) - 1, -1, -1):
        if recent[place].user:
            return recent[place + 1 :]
    return recent


def _complains(seen: Seen) -> bool:
    """Return whether a place is a complaint: it stands for an empty reply, or follows one that was cut off."""
    return seen.type == "MessageEvent" and seen.fingerprint != 0


def _monologue(recent: Sequence[Seen], limits: StuckDetection, nudged: int) -> Repetition | None:
    """Return a repetition of replies without an action at the end. In between there may be only complaints about them,
    a summary, or the warning.
    """
    told = 0
    since = 0
    for place in range(len(recent) - 1, -1, -1):
        seen = recent[place]
        if seen.answer or (_complains(seen) and not (place and recent[place - 1].answer)):
            told, since = told + 1, seen.seq
        elif not (_complains(seen) or seen.type in ("CondensationSummaryEvent", STANDING) or seen.seq == nudged + 1):
            break
    return _reached("monologue", told, limits.monologue, since)


def _pairs(recent: Sequence[Seen]) -> list[Pair]:
    """Return the actions with their results, in the order of the actions; without a `finish` that succeeded, since the
    final checks limit how often they send the agent back.
    """
    results = {seen.action_id: seen for seen in recent if seen.type in _RESULTS}
    pairs = ((seen, results.get(seen.id)) for seen in recent if seen.type == "ActionEvent")
    return [(action, result) for action, result in pairs if result is None or not result.answer]


def _equal(one: Pair, other: Pair) -> bool:
    (action, result), (before, past) = one, other
    if not action.fingerprint or action.fingerprint != before.fingerprint or result is None or past is None:
        return False
    return result.type == past.type and result.fingerprint == past.fingerprint != 0


def _same(pairs: Sequence[Pair], limits: StuckDetection) -> Repetition | None:
    last, times = pairs[-1], 1
    while times < len(pairs) and _equal(last, pairs[-1 - times]):
        times += 1
    failed = last[1] is not None and last[1].type != "ObservationEvent"
    pattern, limit = (
        ("action_error", limits.action_error) if failed else ("action_observation", limits.action_observation)
    )
    return _reached(pattern, times, limit, pairs[-times][0].seq)


def _alternating(pairs: Sequence[Pair], limits: StuckDetection) -> Repetition | None:
    if _equal(pairs[-1], pairs[-2]):
        return None
    times = 2
    while times < len(pairs) and _equal(pairs[-1 - times], pairs[1 - times]):
        times += 1
    return _reached("alternating", times, limits.alternating, pairs[-times][0].seq) if times > 2 else None


def _reached(pattern: str, times: int, limit: int, since: int) -> Repetition | None:
    return Repetition(pattern, times, limit, since) if limit and times >= max(limit - 1, 2) else None
