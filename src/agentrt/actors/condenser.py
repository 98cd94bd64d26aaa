"""`CondenserActor`: makes a view shorter before the next model call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..cancelling import guarded
from ..context.condensing import (
    SUMMARY,
    Condensed,
    Cut,
    Room,
    against_the_laws,
    cut,
    in_force,
    is_needed,
    maskable,
    reset,
    room_after,
)
from ..context.extracting import found_in
from ..context.summaries import asking, bounded, merged, read_summary, rendered, shortened
from ..decisions import Condense
from ..errors import ActorError, ConfigurationError, ContextWindowExceeded, LogError, ModelError
from ..events import Condensation, CondensationSummaryEvent, ConversationErrorEvent, Event
from ..protocols import Condenser
from ..specs import (
    CondensationReason,
    LLMSummarizingCondenser,
    NamedCondenser,
    ObservationMaskingCondenser,
)
from ..specs.condensers import stages
from ..specs.content import sound
from ..specs.given import converted
from ..specs.summary import Summary
from ..specs.tokens import MESSAGE_TOKENS, tokens_of
from ..state import Seen, State, masked
from ..state.seeing import STANDING, condensed
from .dispatcher import Perform
from .event_log import Log
from .side_calls import SideCalls

USAGE = "condenser"

_Cutting: TypeAlias = LLMSummarizingCondenser | NamedCondenser

_TOO_SMALL = "the model's context window is too small even for the last step: use a model with a larger one"
_NOBODY = "the agent's condenser condenses nothing: give it another one than NoOpCondenser()"


class _Made(msgspec.Struct, frozen=True):
    """The parts of a view that were forgotten, masked and summarized so far."""

    forgotten: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    summary: str = ""
    facts: Summary | None = None
    problem: str = ""
    standing: tuple[str, ...] = ()
    """The ids of forgotten events whose texts stay in force."""


class CondenserActor(AbstractAsyncContextManager["CondenserActor"]):
    """Performs `Condense`, one stage of the agent's condenser after the other.

    The events to cut are chosen at the beginning; messages that come meanwhile stay. If a model or a condenser fails,
    the event has the error, and a summary of what is extracted without it takes its place.
    """

    def __init__(self, log: Log, calls: SideCalls, condensers: Mapping[str, Callable[[], Condenser]]) -> None:
        self._log, self._calls, self._condensers = log, calls, condensers

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Condense the view as it is now. If the view must shrink and cannot, end the run with an error."""
        assert isinstance(message.command, Condense)
        state, reason = self._log.state, message.command.reason
        made, must = await self._made(state, reason)
        event = _event(state, reason, made)
        if must and (event.tokens_after >= event.tokens_before or not (made.forgotten or made.masked)):
            error = ConversationErrorEvent(code="context_window", detail=made.problem or _TOO_SMALL)
            await self._log.append(error, command=message.command.id)
        else:
            await self._log.append(event, command=message.command.id)

    async def _made(self, state: State, reason: CondensationReason) -> tuple[_Made, bool]:
        """Return what is made of the view, and whether the run cannot go on with the view as it is."""
        made, view = _Made(), list(state.branch.view)
        must = is_needed(state, reason)
        for one in stages(state.spec.condenser):
            room = room_after(state, one, reason, view)
            if room.events is None and room.tokens is None:
                continue
            if isinstance(one, ObservationMaskingCondenser):
                hidden = dict.fromkeys(seen.id for seen in maskable(view, one.attention_window))
                view = [masked(seen) if seen.id in hidden else seen for seen in view]
                made = replace(made, masked=tuple(hidden))
                continue
            stage = await self._stage(state, one, view, room)
            both = dict.fromkeys((*made.masked, *stage.masked))
            made = replace(stage, masked=tuple(name for name in both if name not in stage.forgotten))
            if made.forgotten:
                return made, must
        if not (made.forgotten or made.masked or made.problem):
            none = not any(stages(state.spec.condenser))
            why = _NOBODY if none else _TOO_SMALL if must else "nothing could be left out"
            made = replace(made, problem=why)
        return made, must

    async def _stage(self, state: State, one: _Cutting, view: Sequence[Seen], room: Room) -> _Made:
        problem = ""
        if isinstance(one, NamedCondenser):
            try:
                if (own := await self._own(one, view, room)) is not None:
                    return own
            except (LogError, ActorError):
                raise
            except Exception as error:  # a condenser is the user's own code
                problem = sound(f"the condenser {one.name} failed: {type(error).__name__}: {error}")
        made = _Made(problem=problem)
        for at in (cut(view, one.keep_first, room, one.minimum_progress), reset(view, one.keep_first, room)):
            if at is not None and not made.forgotten:
                made = await self._summarized(state, one, view, at, room, problem)
            if not room.must:
                break
        return made

    async def _own(self, one: NamedCondenser, view: Sequence[Seen], room: Room) -> _Made | None:
        events = await self._calls.load(view)
        with guarded:
            made = await self._condensers[one.name]().condense(events, room)
        if made is None or made == Condensed():
            return None
        made = self._checked(made, view, one)
        if not made.forgotten:
            return _Made(masked=made.masked)
        gone = [seen for seen in view if seen.id in made.forgotten]
        stays = [seen for seen in view if seen.id not in made.forgotten]
        texts = in_force(gone, (*stays, *self._log.state.branch.queued), room.standing)
        count = sum(seen.type not in (SUMMARY, STANDING) for seen in gone)
        facts = Summary(count=count, first=gone[0].seq, last=gone[-1].seq, left_out=texts.left_out)
        head = rendered(facts, _recall(self._log.state))
        summary = f"{head}\n\n{made.summary}".strip()
        if tokens_of(summary) + MESSAGE_TOKENS >= sum(seen.tokens for seen in gone):
            raise ConfigurationError("its summary is longer than what it stands for")
        return _Made(made.forgotten, made.masked, summary, standing=texts.kept)

    def _checked(self, given: object, view: Sequence[Seen], one: NamedCondenser) -> Condensed:
        """Return what a condenser gave, checked. Raise `ConfigurationError` if it is invalid."""
        if not isinstance(given, Condensed):
            raise ConfigurationError(f"condense() must return Condensed(...) or None, not {type(given).__name__}")
        made: Condensed = converted(msgspec.to_builtins(given), Condensed, one.name, "condense")
        results = {seen.id for seen in view if seen.type == "ObservationEvent"}
        if unknown := [name for name in made.masked if name not in results]:
            raise ConfigurationError(f"{unknown[0]!r} is not a result in the view, so it cannot be masked")
        if (wrong := against_the_laws(view, set(made.forgotten), one.keep_first)) is not None:
            raise ConfigurationError(wrong)
        return replace(made, summary=sound(made.summary))

    async def _summarized(
        self, state: State, one: _Cutting, view: Sequence[Seen], at: Cut, room: Room, problem: str
    ) -> _Made:
        """Return a summary in place of what is cut: from a model, if there is one, and from what is extracted."""
        gone = view[at.first : at.end]
        events = await self._calls.load(list(state.branch.view)[: at.end])
        before = next((event for event in events[at.first :] if isinstance(event, CondensationSummaryEvent)), None)
        told = events[at.first :]
        room = replace(room, summary=min(room.summary, sum(seen.tokens for seen in gone) // 2))
        stays = (*view[: at.first], *view[at.end :], *state.branch.queued)
        texts = in_force(gone, stays, room.standing)
        said = None
        if isinstance(one, LLMSummarizingCondenser):
            said, problem = await self._said(state, one, events, len(gone), room)
        known = _known(before)
        facts = merged(known, said, await anyio.to_thread.run_sync(found_in, told))
        first = known.first if known is not None and known.first else gone[0].seq
        fresh = sum(seen.type != STANDING and seen.id != getattr(before, "id", "") for seen in gone)
        count = (known.count if known is not None else 0) + fresh
        shown = {seen.stands for seen in stays} | {seen.stands for seen in gone if seen.id in texts.kept}
        missing = dict.fromkeys((*(known.left_out if known is not None else ()), *texts.left_out))
        left_out = tuple(name for name in missing if name not in shown)
        last = max(seen.seq for seen in gone)
        facts = bounded(replace(facts, count=count, first=first, last=last, left_out=left_out), room.summary)
        text, most = rendered(facts, _recall(state)), sum(seen.tokens for seen in gone) - MESSAGE_TOKENS - texts.tokens
        if tokens_of(text) >= most:
            text = rendered(Summary(count=count, first=first, last=facts.last, left_out=left_out))
        if tokens_of(text) >= most:
            return _Made(problem=problem or "the summary would be longer than what it stands for")
        return _Made(tuple(seen.id for seen in gone), (), text, facts, problem, texts.kept)

    async def _said(
        self, state: State, one: LLMSummarizingCondenser, events: Sequence[Event], count: int, room: Room
    ) -> tuple[Summary | None, str]:
        """Return the model's summary of events, or why there is none.

        The model first gets what the agent's model was sent, followed by a question, so most of it is cached. If that
        is too long for it, it gets the events as text, shorter each time.
        """
        here, question = state.branch, asking(count, room.summary)
        whole = sum(seen.tokens for seen in list(here.view)[: len(events)]) + tokens_of(question)
        measure, window = state.ledger.counting.measure, self._calls.window(one.llm)
        limits = [limit for limit in (here.refused, int(window / measure)) if limit]
        limit = min(limits, default=0)
        fits = not limit or whole < limit
        limit = whole if fits else limit
        for attempt in range(one.hard_context_reset_max_retries + 1):
            if attempt or not fits:
                limit = int(limit * one.hard_context_reset_context_scaling)
                messages = shortened(events, limit, question)
            else:
                messages = [*await self._calls.told(events), *shortened((), 0, question)]
            try:
                reply = await self._calls.complete(messages, USAGE, one.llm)
            except ContextWindowExceeded:
                continue
            except (LogError, ActorError):
                raise
            except Exception as error:  # of a model, or of a client that may be anyone's code
                known = isinstance(error, ModelError | ConfigurationError)
                return None, sound(f"no model summed it up: {error if known else f'{type(error).__name__}: {error}'}")
            said = read_summary(reply.text)
            return said, "" if said is not None else "no model summed it up: it answered with no summary"
        return None, "no model summed it up: it was too long for it, however short it was made"


def _event(state: State, reason: CondensationReason, made: _Made) -> Condensation:
    here, measure = state.branch, state.ledger.counting.measure
    event = Condensation(
        forgotten_event_ids=made.forgotten,
        masked_event_ids=made.masked,
        standing_event_ids=made.standing,
        summary=made.summary,
        reason=reason,
        facts=made.facts,
        labels=here.labels,
        problem=made.problem,
    )
    after = sum(seen.tokens for seen in condensed(here.view, event))
    return replace(event, tokens_before=int(here.tokens * measure), tokens_after=int(after * measure))


def _known(before: CondensationSummaryEvent | None) -> Summary | None:
    """Return the facts of a summary that is replaced; its whole text if it has no parts."""
    if before is None or before.facts is not None:
        return before.facts if before is not None else None
    return Summary(decisions=(before.summary,))


def _recall(state: State) -> str:
    return next((tool.name for tool in state.tools if tool.recalls), "")
