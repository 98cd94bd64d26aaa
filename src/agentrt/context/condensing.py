"""Where a view may be cut, and which part of it a condensation forgets. Pure.

The laws: the first events stay; a call stays with its batch and its result; what follows on a provider's own record of
a thought stays with that; there is one summary, after the first events.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

import msgspec

from ..specs import CondensationReason, ObservationMaskingCondenser
from ..specs.condensers import WINDOW_SHARE, BoundedCondenser, stages
from ..specs.llm import Capabilities, window_of
from ..state import Seen, State
from ..state.seeing import MASKED_TOKENS

SUMMARY_SHARE = 0.25
"""Of the tokens that a view may have afterwards, what its summary may take."""

LEAST_SUMMARY, MOST_SUMMARY = 250, 6000
"""Tokens that a summary is given room for."""

BARE_SUMMARY = 60
"""Tokens of one that says nothing but what it stands for, at most."""

SUMMARY = "CondensationSummaryEvent"


class Room(msgspec.Struct, frozen=True):
    """What a view may have after a condensation, as `Branch.tokens` measures it; None where that does not matter."""

    events: int | None = None
    tokens: int | None = None
    summary: int = MOST_SUMMARY
    """Tokens of that for the summary."""
    must: bool = False
    """Whether it must become shorter for the run to go on."""


class Condensed(msgspec.Struct, frozen=True):
    """What is forgotten of a view, by the ids of events; which results lose their output; and what is said instead."""

    forgotten: tuple[str, ...] = ()
    summary: str = ""
    masked: tuple[str, ...] = ()


class Cut(msgspec.Struct, frozen=True):
    """The places of a view that are forgotten: from `first` on, up to `end`."""

    first: int
    end: int


def window_known(state: State) -> int:
    """Tokens that the agent's model reads: as it was found with the last call, else as its configuration says; or 0."""
    declared = window_of(state.spec.llm, lambda llm: Capabilities(max_input_tokens=llm.max_input_tokens))
    return state.ledger.counting.window or declared


def most_tokens(one: BoundedCondenser, window: int) -> int | None:
    """Tokens from which on a view is condensed, for a model that reads so many (0: nobody knows)."""
    share = int(window * WINDOW_SHARE) or None
    if one.max_tokens is None or share is None:
        return one.max_tokens or share
    return min(one.max_tokens, share)


def loaded(state: State) -> tuple[int, int]:
    """The events and tokens of the next prompt: of the view, and of what waits to join it."""
    here = state.branch
    return len(here.view) + len(here.queued), here.tokens + sum(seen.tokens for seen in here.queued)


def is_needed(state: State, reason: CondensationReason) -> bool:
    """Whether the run cannot go on with the view as it is: a model has called it too long."""
    return state.branch.condense == "needed" or (reason is CondensationReason.REQUEST and not state.branch.condense)


def enough(state: State) -> int:
    """Tokens of a view that is short enough where it must be shorter: half of what may go is gone."""
    here = state.branch
    bounds = [
        one.keep_first for one in stages(state.spec.condenser) if not isinstance(one, ObservationMaskingCondenser)
    ]
    stays = sum(seen.tokens for seen in here.view[: head(here.view, min(bounds, default=0))])
    return stays + max(min(here.refused or here.tokens, here.tokens) - stays, 0) // 2


def room_after(state: State, one: BoundedCondenser, reason: CondensationReason, view: Sequence[Seen]) -> Room:
    """What a condenser is to leave of a view: half of what there is too much of, less what waits to join it. None of
    events and tokens where it has nothing to do.
    """
    here, measure, window = state.branch, state.ledger.counting.measure, window_known(state)
    waiting = sum(seen.tokens for seen in here.queued)
    size = sum(seen.tokens for seen in view)
    most = most_tokens(one, window)
    events, tokens = list[int](), list[int]()
    if most is not None and (size + waiting) * measure > most:
        tokens.append(int(most / 2 / measure) - waiting)
    if not isinstance(one, ObservationMaskingCondenser) and len(view) + len(here.queued) > one.max_size:
        events.append(one.max_size // 2 - len(here.queued))
    if here.condense == "asked" and reason is CondensationReason.REQUEST:
        events.append(len(here.view) // 2)
        tokens.append(enough(state))
    must = is_needed(state, reason)
    if must and size > (target := enough(state)):
        tokens.append(target)
    least = max(min(tokens), 0) if tokens else None
    summary = int((here.tokens / 2 if least is None else least) * SUMMARY_SHARE)
    return Room(
        events=max(min(events), 0) if events else None,
        tokens=least,
        summary=min(max(summary, LEAST_SUMMARY), MOST_SUMMARY),
        must=must or bool(window and (size + waiting) * measure > window),
    )


def cuts(view: Sequence[Seen]) -> list[int]:
    """The positions between which events may be forgotten."""
    open_calls: set[str] = set()
    legal: list[int] = []
    thought = False
    for position, seen in enumerate(view):
        if seen.thinks or seen.user or seen.type == SUMMARY:
            thought = False
        if not open_calls and not seen.action_id and not (thought and seen.type == "ActionEvent"):
            legal.append(position)
        thought = thought or seen.thinks
        if seen.type == "ActionEvent":
            open_calls.add(seen.id)
        open_calls.discard(seen.action_id)
    if not open_calls:
        legal.append(len(view))
    return legal


def head(view: Sequence[Seen], keep_first: int) -> int:
    """How many events at the start stay: `keep_first`, and the instructions with all up to the first message, whose
    skills stay with it. The summary stands behind them.
    """
    stop = next((place for place, seen in enumerate(view) if seen.type in (SUMMARY, "ActionEvent")), len(view))
    told = next((place + 1 for place in range(stop) if view[place].type == "MessageEvent"), min(1, len(view)))
    while told < len(view) and view[told].type == "SkillActivated":
        told += 1
    summary = next((place for place, seen in enumerate(view) if seen.type == SUMMARY), len(view))
    return max((position for position in cuts(view) if told <= position <= min(keep_first, summary)), default=told)


def cut(view: Sequence[Seen], keep_first: int, room: Room, progress: float) -> Cut | None:
    """What is to be forgotten so that the rest has room; as much as there can be where it has none.

    The last batch stays. None where that is less than a share `progress` of the view.
    """
    first = head(view, keep_first)
    least = max((place + 1 for place, seen in enumerate(view) if seen.type == SUMMARY), default=first)
    ends = [position for position in cuts(view) if max(first, least) < position < len(view)]
    if not ends:
        return None
    upto = [0, *accumulate(seen.tokens for seen in view)]

    def gained(end: int) -> int:
        gone = upto[end] - upto[first]
        return gone - max(min(room.summary, gone // 2), BARE_SUMMARY)

    def fits(end: int) -> bool:
        events, tokens = first + 1 + len(view) - end, upto[-1] - gained(end)
        return (room.events is None or events <= room.events) and (room.tokens is None or tokens <= room.tokens)

    end = next((position for position in ends if fits(position)), ends[-1])
    gain, of = (
        (gained(end), upto[-1] - upto[first]) if room.tokens is not None else (end - first - 1, len(view) - first)
    )
    return Cut(first, end) if gain > 0 and gain >= progress * of else None


def reset(view: Sequence[Seen], keep_first: int, room: Room) -> Cut | None:
    """All that can be forgotten at once: what follows on the first events, which go as well where they leave no room.
    None where there is nothing.
    """
    first = head(view, keep_first)
    taken = sum(seen.tokens for seen in view[:first])
    told, rest = sum(seen.tokens for seen in view[1:first]), sum(seen.tokens for seen in view[first:])
    if room.tokens is not None and taken + LEAST_SUMMARY > room.tokens and told > rest:
        first = 1
    return Cut(first, len(view)) if first < len(view) else None


def maskable(view: Sequence[Seen], attention_window: int) -> list[Seen]:
    """The results whose output may be taken out: all but the newest ones, and those that a turn ends with."""
    results = [seen for seen in view if seen.type == "ObservationEvent" and not seen.answer]
    old = results[: max(len(results) - attention_window, 0)]
    return [seen for seen in old if not seen.masked and seen.tokens > MASKED_TOKENS]


def against_the_laws(view: Sequence[Seen], forgotten: Collection[str], keep_first: int) -> str | None:
    """What is wrong with forgetting these events; None where nothing is."""
    known = {seen.id for seen in view}
    if unknown := [name for name in forgotten if name not in known]:
        return f"event {unknown[0]!r} is not in the view"
    if any(seen.id in forgotten for seen in view[: head(view, keep_first)]):
        return "the first events must stay"
    if forgotten and any(seen.type == SUMMARY and seen.id not in forgotten for seen in view):
        return "the earlier summary must be forgotten, too: the new one takes its place"
    legal = cuts(view)
    for start, end in pairwise(legal):
        kept = {seen.id in forgotten for seen in view[start:end]}
        if len(kept) > 1:
            return f"events {view[start].seq} to {view[end - 1].seq} are forgotten together, or not at all"
    return None
