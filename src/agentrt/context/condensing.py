"""Condensation: where a view may be cut, and which part of it is forgotten. Pure.

The laws: the first events stay; a call stays with its batch and its result; calls after a provider's own record of the
model's reasoning stay with it; there is one summary, after the first events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, pairwise

import msgspec

from ..specs import CondensationReason, ObservationMaskingCondenser
from ..specs.condensers import WINDOW_SHARE, BoundedCondenser, stages
from ..specs.llm import Capabilities, window_of
from ..state import Seen, State
from ..state.seeing import MASKED_TOKENS

SUMMARY_SHARE = 0.25
"""The summary's share of the tokens that a view may have after a condensation."""

LEAST_SUMMARY, MOST_SUMMARY = 250, 6000
"""Minimum and maximum number of tokens for a summary."""

UNKNOWN_WINDOW = 32_000
"""The context window that is assumed for the share of texts in force where a model's is unknown, in tokens."""

BARE_SUMMARY = 60
"""Maximum number of tokens of a summary that says only which events it replaces."""

SUMMARY = "CondensationSummaryEvent"


class Room(msgspec.Struct, frozen=True):
    """The size that a view may have after a condensation, with tokens as in `Branch.tokens`; None: no limit."""

    events: int | None = None
    tokens: int | None = None
    summary: int = MOST_SUMMARY
    """The tokens of these that the summary may have."""
    must: bool = False
    """Whether the view must become shorter for the run to go on."""
    standing: int = 0
    """The tokens that texts in force may take after the summary."""


class Condensed(msgspec.Struct, frozen=True):
    """A condensation: the ids of the forgotten events, the summary that replaces them, and the ids of the results that
    lose their output.
    """

    forgotten: tuple[str, ...] = ()
    summary: str = ""
    masked: tuple[str, ...] = ()


class Cut(msgspec.Struct, frozen=True):
    """The places of a view that are forgotten: from `first` to before `end`."""

    first: int
    end: int


def window_known(state: State) -> int:
    """Return the context window of the agent's model in tokens: as known from its calls, else as configured, else 0."""
    declared = window_of(state.spec.llm, lambda llm: Capabilities(max_input_tokens=llm.max_input_tokens))
    return state.ledger.counting.window or declared


def most_tokens(one: BoundedCondenser, window: int) -> int | None:
    """Return the tokens above which a view is condensed, for a model with this window (0: unknown); None: no limit."""
    share = int(window * WINDOW_SHARE) or None
    if one.max_tokens is None or share is None:
        return one.max_tokens or share
    return min(one.max_tokens, share)


def loaded(state: State) -> tuple[int, int]:
    """Return the events and tokens of the next prompt: those of the view, and those that are queued to join it."""
    here = state.branch
    return len(here.view) + len(here.queued), here.tokens + sum(seen.tokens for seen in here.queued)


def is_needed(state: State, reason: CondensationReason) -> bool:
    """Return whether the run cannot go on with the view, because the model has rejected it as too long."""
    return state.branch.condense == "needed" or (reason is CondensationReason.REQUEST and not state.branch.condense)


def enough(state: State) -> int:
    """Return the tokens at which a view that must become shorter is short enough: half of what may go is gone."""
    here = state.branch
    bounds = [
        one.keep_first for one in stages(state.spec.condenser) if not isinstance(one, ObservationMaskingCondenser)
    ]
    stays = sum(seen.tokens for seen in here.view[: head(here.view, min(bounds, default=0))])
    return stays + max(min(here.refused or here.tokens, here.tokens) - stays, 0) // 2


def room_after(state: State, one: BoundedCondenser, reason: CondensationReason, view: Sequence[Seen]) -> Room:
    """Return the size to which a condenser must shrink a view: half of each exceeded limit, minus the queued events; if
    a user requested it or the model rejected the view, about half of the view. `events` and `tokens` are None if it has
    nothing to do.
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
        standing=_standing_room(one, int((window or one.max_tokens or UNKNOWN_WINDOW) / measure)),
    )


def _standing_room(one: BoundedCondenser, window: int) -> int:
    return 0 if isinstance(one, ObservationMaskingCondenser) else int(window * one.standing_share)


class InForce(msgspec.Struct, frozen=True):
    """What stays of the texts in force when events are forgotten: the ids of their events, and the `stands` of those
    that have no room.
    """

    kept: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    tokens: int = 0


def in_force(gone: Sequence[Seen], stays: Iterable[Seen], room: int) -> InForce:
    """Return which texts of forgotten events stay in force: the newest of each, most recent first, in `room` tokens and
    half of what is forgotten. A text that another one in the rest of the view replaces does not.
    """
    known = {seen.stands for seen in stays if seen.stands}
    left = min(room, sum(seen.tokens for seen in gone) // 2)
    kept, missing, taken = list[str](), list[str](), 0
    for seen in reversed(gone):
        if not seen.stands or seen.stands in known:
            continue
        known.add(seen.stands)
        if seen.tokens <= left - taken:
            kept.append(seen.id)
            taken += seen.tokens
        else:
            missing.append(seen.stands)
    return InForce(tuple(kept[::-1]), tuple(missing[::-1]), taken)


def cuts(view: Sequence[Seen]) -> list[int]:
    """Return the positions between which events may be forgotten."""
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
    """Return how many events at the start stay: at most `keep_first`, as far as a cut is possible there, but always all
    up to the first message, with its skills. The summary comes after them.
    """
    stop = next((place for place, seen in enumerate(view) if seen.type in (SUMMARY, "ActionEvent")), len(view))
    told = next((place + 1 for place in range(stop) if view[place].type == "MessageEvent"), min(1, len(view)))
    while told < len(view) and view[told].type == "SkillActivated":
        told += 1
    summary = next((place for place, seen in enumerate(view) if seen.type == SUMMARY), len(view))
    return max((position for position in cuts(view) if told <= position <= min(keep_first, summary)), default=told)


def cut(view: Sequence[Seen], keep_first: int, room: Room, progress: float) -> Cut | None:
    """Return what to forget so that the rest has room, or as much as possible if it cannot have room.

    The last batch stays. None if that saves nothing, or less than the share `progress` of what follows the first
    events.
    """
    first = head(view, keep_first)
    least = max((place + 1 for place, seen in enumerate(view) if seen.type == SUMMARY), default=first)
    ends = [position for position in cuts(view) if max(first, least) < position < len(view)]
    if not ends:
        return None
    upto = [0, *accumulate(seen.tokens for seen in view)]
    standing = in_force(view[first:], view[:first], room.standing).tokens

    def gained(end: int) -> int:
        gone = upto[end] - upto[first]
        return gone - max(min(room.summary, gone // 2), BARE_SUMMARY) - min(standing, gone // 2)

    def fits(end: int) -> bool:
        events, tokens = first + 1 + len(view) - end, upto[-1] - gained(end)
        return (room.events is None or events <= room.events) and (room.tokens is None or tokens <= room.tokens)

    end = next((position for position in ends if fits(position)), ends[-1])
    gain, of = (
        (gained(end), upto[-1] - upto[first]) if room.tokens is not None else (end - first - 1, len(view) - first)
    )
    return Cut(first, end) if gain > 0 and gain >= progress * of else None


def reset(view: Sequence[Seen], keep_first: int, room: Room) -> Cut | None:
    """Return all that can be forgotten at once: everything after the first events, or, if these leave no room,
    everything after the instructions. None if there is nothing.
    """
    first = head(view, keep_first)
    taken = sum(seen.tokens for seen in view[:first])
    told, rest = sum(seen.tokens for seen in view[1:first]), sum(seen.tokens for seen in view[first:])
    if room.tokens is not None and taken + LEAST_SUMMARY > room.tokens and told > rest:
        first = 1
    return Cut(first, len(view)) if first < len(view) else None


def maskable(view: Sequence[Seen], attention_window: int) -> list[Seen]:
    """Return the results whose output may be removed: all but the newest ones, those that end a turn, those that would
    not become shorter, and texts in force.
    """
    results = [seen for seen in view if seen.type == "ObservationEvent" and not seen.answer]
    old = results[: max(len(results) - attention_window, 0)]
    newest = {seen.stands: seen.id for seen in view if seen.stands}
    return [
        seen for seen in old if not seen.masked and seen.tokens > MASKED_TOKENS and newest.get(seen.stands) != seen.id
    ]


def against_the_laws(view: Sequence[Seen], forgotten: Collection[str], keep_first: int) -> str | None:
    """Return why these events must not be forgotten; None if they may be."""
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
