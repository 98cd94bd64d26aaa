"""The performers of a replay: they return each recorded outcome in its turn."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio
from msgspec.structs import replace

from ..actors.critic import GOAL, CriticActor
from ..actors.dispatcher import Perform
from ..actors.event_log import Log
from ..actors.group import Parts, PerformerFactory
from ..actors.hooks import HookActor
from ..actors.security import SecurityActor
from ..actors.side_calls import SideCalls
from ..actors.veil import Veil
from ..context.judging import CriticResult
from ..decisions import Activate, AssessRisk, Attend, Delegate, Seeing
from ..errors import ActorError, AgentrtError
from ..events import (
    AgentErrorEvent,
    ChildFinished,
    ChildWaiting,
    Condensation,
    ConversationErrorEvent,
    Event,
    ExecutionLost,
    GoalSet,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
    SkillActivated,
)
from ..hooks import HookInput, HookResult
from ..ids import new_id
from ..placing import Setting
from ..protocols import Critic, SecurityAnalyzer
from ..sandboxes.in_memory import InMemory
from ..specs import Hook, WorkspaceSpec
from ..state import State
from ..tools import Tools
from .calls import JUDGED_WITHOUT, model_error
from .recording import Delegation, Recording
from .stage import Stage

_FAILED = re.compile(r"^(?P<kind>\w+): (?P<text>.*)$", re.DOTALL)


def stand_ins(
    recording: Recording,
    stage: Stage,
    analyzers: Mapping[str, Callable[[], SecurityAnalyzer]],
    from_log: Collection[str],
) -> dict[str, PerformerFactory]:
    """Return the replacements for a conversation's performers, except for the agent and the tools.

    Calls of tools in `from_log`, whose implementation is missing here, get their recorded rating.
    """
    workspace = recording.created.workspace

    def judge(log: Log, parts: Parts) -> CriticActor:
        critics = {name: partial(RecordedCritic, recording, stage, name) for name in critics_of(recording)}
        calls = SideCalls(log, parts.client, Veil(parts.secrets))
        return RecordedJudge(recording, stage, log, critics, calls, workspace)

    return {
        "security": lambda log, parts: RecordedSecurity(recording, stage, log, analyzers, parts.tools, from_log),
        "condenser": lambda log, parts: RecordedCondenser(recording, stage, log),
        "hooks": lambda log, parts: RecordedHooks(recording, stage, log, parts),
        "critic": judge,
        "skills": lambda log, parts: RecordedSkills(recording, stage, log),
        "delegate": lambda log, parts: RecordedDelegate(recording, stage, log),
        "background": lambda log, parts: RecordedDelegate(recording, stage, log),
    }


def critics_of(recording: Recording) -> tuple[str, ...]:
    """Return the names of the critics of a recording."""
    return tuple({agent.critic.name for agent in recording.agents if agent.critic is not None})


class RecordedSecurity(SecurityActor):
    """Rates actions in the recorded order: with known analyzers and tools, otherwise as recorded."""

    def __init__(
        self,
        recording: Recording,
        stage: Stage,
        log: Log,
        analyzers: Mapping[str, Callable[[], SecurityAnalyzer]],
        tools: Tools,
        from_log: Collection[str],
    ) -> None:
        super().__init__(log, analyzers, tools, recording.created.workspace)
        self._recording, self._stage, self._known, self._from_log = recording, stage, analyzers, from_log

    async def handle(self, message: Perform) -> None:
        """Rate one action, for the recorded workspace."""
        assert isinstance(message.command, AssessRisk)
        action = message.command.action
        rating = self._recording.rating(action.seq, self._stage.matched)
        await self._stage.turn(rating.seq if rating is not None else None)
        if action.tool_name not in self._from_log and all(name in self._known for name in message.command.analyzers):
            await super().handle(message)
        elif rating is not None:
            again = replace(rating, seq=0, action_id=action.id, caused_by=action.id)
            await self._log.append(again, command=message.command.id)


class RecordedCondenser(AbstractAsyncContextManager["RecordedCondenser"]):
    """Repeats the recorded condensations at their recorded places, without asking a model."""

    def __init__(self, recording: Recording, stage: Stage, log: Log) -> None:
        self._recording, self._stage, self._log = recording, stage, log

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Append the outcome: a condensation, or an error."""
        found = self._recording.condensed(self._stage.matched)
        if found is None:
            await self._stage.never()
        await self._stage.turn(found.seq)
        again = replace(found, seq=0, id=new_id())
        if isinstance(again, Condensation):
            names = {seen.seq: seen.id for seen in self._log.state.branch.view}
            again = replace(
                again,
                forgotten_event_ids=tuple(names[self._recording.seq_of(name)] for name in again.forgotten_event_ids),
                masked_event_ids=tuple(names[self._recording.seq_of(name)] for name in again.masked_event_ids),
            )
        await self._log.append(again, command=message.command.id)


class RecordedHooks(HookActor):
    """Returns the recorded results of each event's hooks, without running any; their consequences are real."""

    def __init__(self, recording: Recording, stage: Stage, log: Log, parts: Parts) -> None:
        nowhere = InMemory(recording.created.workspace, Setting(lambda function: None))  # no hook is run
        super().__init__(log, {}, parts.tools, nowhere, str)
        self._recording, self._stage = recording, stage

    async def run(
        self, given: HookInput, hooks: Sequence[Hook], target: str = "", at_most: float = 0.0
    ) -> tuple[HookResult, HookExecutionEvent]:
        """Return the results of the hooks of an event."""
        seq = _seq(self._log.state, target)
        hooked = self._recording.hooked(given.event_type, seq, self._stage.matched)
        if hooked is None:
            return await self._stage.never()
        await self._stage.turn(hooked.event.seq)
        return hooked.result, replace(hooked.event, seq=0, target=target, caused_by=target or None)


def _seq(state: State, target: str) -> int:
    """Return the seq of the action or message that a hook is about; 0 for none."""
    here = state.branch
    for inner in here.inner:
        if inner.id == target:
            return inner.seq
    for p in here.pending:
        if p.action.id == target:
            return p.action.seq
    return next((seen.seq for seen in (*here.view, *here.queued) if seen.id == target), 0)


class RecordedSkills(AbstractAsyncContextManager["RecordedSkills"]):
    """Activates skills as recorded, without their texts."""

    def __init__(self, recording: Recording, stage: Stage, log: Log) -> None:
        self._recording, self._stage, self._log = recording, stage, log

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Append the next recorded outcome: the calls of commands, or the text."""
        assert isinstance(message.command, Activate)
        command, due = message.command, message.command.due
        events = self._recording.activated(due.skill, _seq(self._log.state, due.cause), self._stage.matched)
        await self._stage.turn(events[0].seq if events else None)
        again = [replace(event, seq=0, id=new_id(), caused_by=due.cause) for event in events]
        for place, event in enumerate(again):
            if isinstance(event, ObservationEvent | AgentErrorEvent):
                again[place] = replace(event, action_id=due.cause)
            elif isinstance(event, SkillActivated):
                again[place] = replace(event, cause=due.cause)
        await self._log.append(*again, command=command.id)


class RecordedCritic(Critic):
    """A critic that returns the recorded result, or fails as recorded."""

    def __init__(self, recording: Recording, stage: Stage, name: str) -> None:
        self._recording, self._stage, self._name = recording, stage, name

    async def evaluate(self, events: object, workspace: WorkspaceSpec) -> CriticResult:
        """Return the recorded score and text. Raises the recorded error."""
        said = self._recording.judged(self._name, self._stage.matched)
        if said is None:
            return await self._stage.never()
        await self._stage.turn(said.seq)
        if isinstance(said, ConversationErrorEvent):
            raise failure_of(said)
        if said.error and (failed := _raised(said.error)) is not None:
            raise failed
        return CriticResult(said.score, said.message, said.refine, said.metadata)


class RecordedJudge(CriticActor):
    """Judges in the recorded order; for a goal, with the replies of a `RecordedModel`."""

    def __init__(
        self,
        recording: Recording,
        stage: Stage,
        log: Log,
        critics: Mapping[str, Callable[[], Critic]],
        calls: SideCalls,
        workspace: WorkspaceSpec,
    ) -> None:
        super().__init__(log, critics, calls, workspace)
        self._recording, self._stage = recording, stage

    async def _goal(self, goal: GoalSet) -> tuple[Event, ...]:
        here, call = self._stage.matched, self._stage.next_judgement()
        said = self._recording.judged(GOAL, here)
        ended = said.seq if said is not None else None
        called = call.begun + 1 if call is not None else None
        known = min((seq for seq in (ended, called) if seq is not None), default=None)
        if known is None or self._recording.interrupted(here, known):
            await self._stage.never()  # it was cut, and the process died before it said so: what follows is another's
        if isinstance(said, ConversationErrorEvent) and (call is None or call.begun >= said.seq):
            await self._stage.turn(ended)
            raise failure_of(said)
        try:
            events = await super()._goal(goal)
        except AgentrtError:
            await self._stage.turn(ended)
            raise
        await self._stage.turn(ended)
        return events


def failure_of(event: ConversationErrorEvent) -> Exception:
    """Return a critic's exception, from the error that it ended the run with."""
    words = event.detail.removeprefix(JUDGED_WITHOUT)
    if event.code == "internal":
        return ActorError(event.detail.removeprefix("It failed: "))
    if event.code == "critic" and (failed := _raised(words)) is not None:
        return failed
    return model_error(event, words)


def _raised(words: str) -> Exception | None:
    found = _FAILED.match(words)
    if found is None:
        return None
    kind: type[Exception] = type(found["kind"], (Exception,), {})
    return kind(found["text"])


class RecordedDelegate(AbstractAsyncContextManager["RecordedDelegate"]):
    """Performs `Delegate` without a conversation, from its recorded messages and outcome."""

    def __init__(self, recording: Recording, stage: Stage, log: Log) -> None:
        self._recording, self._stage, self._log = recording, stage, log

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Append the outcome of one delegation, even if it was interrupted; nothing if a crash ended it."""
        assert isinstance(message.command, Delegate | Attend)
        command = message.command
        given = self._given(command)
        if given is None:
            await self._stage.never()
        self._stage.at_work(given.begun)
        try:
            matched = self._stage.matched
            for waiting in (event for event in given.waiting if event.seq > matched):
                await self._stage.turn(waiting.seq)
                await self._log.append(_again(waiting, command))
            await self._stage.turn(given.ended)
        except anyio.get_cancelled_exc_class():
            await self._stage.turn_of_the_cut(given.ended)
            with anyio.CancelScope(shield=True), contextlib.suppress(AgentrtError):
                await self._append(command, given.outcome or self._lost(command))
            raise
        await self._append(command, given.outcome)

    def _lost(self, command: Seeing) -> tuple[Event, ...]:
        return (ExecutionLost(action_id=command.action.id),) if isinstance(command, Delegate) else ()

    def _given(self, command: Seeing) -> Delegation | None:
        if isinstance(command, Delegate):
            return self._recording.delegations.get((command.action.seq, command.attempt))
        state = self._log.state
        action_id = state.ledger.children[command.child_id].action_id
        given = self._recording.attended.get(_seq(state, action_id))
        if given is None or not given.outcome:
            return given
        ended = given.outcome[0]
        said = next(
            (e for e in self._recording.events if isinstance(e, MessageEvent) and e.caused_by == ended.id), None
        )
        return given if said is None else replace(given, outcome=(ended, said))

    async def _append(self, command: Seeing, outcome: tuple[Event, ...]) -> None:
        again = [_again(event, command) for event in outcome]
        if len(again) > 1 and isinstance(again[1], MessageEvent):
            again[1] = replace(again[1], caused_by=again[0].id)
        await self._log.append(*again, command=command.id)


def _again(event: Event, command: Seeing) -> Event:
    """Return an event of a delegation, with the replay's ids."""
    match event:
        case ChildWaiting() | ChildFinished():
            return replace(event, seq=0, id=new_id(), child_id=command.child_id)
        case MessageEvent():
            return replace(event, seq=0, id=new_id())
        case _ if isinstance(command, Attend):
            return replace(event, seq=0, id=new_id())
        case ObservationEvent() | AgentErrorEvent() | ExecutionLost():
            return replace(event, seq=0, action_id=command.action.id, caused_by=command.action.id)
        case _:
            return replace(event, seq=0)
