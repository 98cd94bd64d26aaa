"""`replay`: runs a recorded conversation through the runtime, in a scratch store and workspace."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import takewhile
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..actors.group import ConversationGroup
from ..decisions import forked, recovery
from ..errors import LogError
from ..events import (
    ActionRevised,
    AgentErrorEvent,
    ConfirmationGiven,
    ConversationCreated,
    DurabilityChanged,
    Event,
    ExecutionLost,
    InterruptEvent,
    ModelCalled,
    PauseEvent,
    ResourceLost,
    UserRejectObservation,
)
from ..runtime import ANALYZERS, Runtime
from ..state import State, apply
from ..tools import ToolType
from .comparing import Difference, Side, compare, outline
from .performers import RecordedModel, analyzers, stand_ins
from .recording import Recording
from .stage import Stage

PATIENCE = 5.0
"""Seconds until a recorded event that does not come counts as a difference."""

_AFTER_A_CRASH = (DurabilityChanged, ModelCalled, ExecutionLost, AgentErrorEvent, ResourceLost, PauseEvent)


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay went: `events` came as recorded, with `calls` model calls, up to the first difference."""

    events: int
    calls: int
    from_log: tuple[str, ...] = ()
    """Tools that have no implementation here: their definitions were taken from the log."""
    difference: Difference | None = None


async def replay(events: Sequence[Event], tools: Iterable[ToolType] = (), *, patience: float = PATIENCE) -> Replay:
    """Run a conversation again with its recorded replies and results, and find the first difference.

    Everything between is real: the decisions, the actors, the log, the rating of actions, the messages to the model.
    Nothing is run and nothing outside of a scratch directory is touched. `tools` are the implementations of tools that
    are not built in, for their definitions and checks. Raises `ValueError` when the events do not begin a log, and
    `ConfigurationError` when the agent cannot be made here.
    """
    recording = Recording(events)
    scratch = Path(await anyio.to_thread.run_sync(lambda: tempfile.mkdtemp(prefix="agentrt-replay-")))
    try:
        return await _Player(recording, tools, scratch, patience).to_the_end()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(shutil.rmtree, scratch)


class _Player:
    def __init__(self, recording: Recording, tools: Iterable[ToolType], scratch: Path, patience: float) -> None:
        self._recording, self._scratch, self._patience = recording, scratch, patience
        self._workspace = scratch / "workspace"
        self._recorded = Side({})
        self._replayed = Side({}, {str(self._workspace): recording.created.workspace.path})
        self._stage = Stage(recording)
        self._tools, self._from_log = stand_ins(recording, self._stage, tools)
        self._client = RecordedModel(recording, self._stage, self._recorded, self._replayed)
        self._analyzers = analyzers(recording, self._stage, ANALYZERS)
        self._store, self._name, self._life = scratch / "store-1", "replayed-1", 1
        """Where it is played, under which id, and how many processes there were."""
        self._state = State()
        """Of the recording, after the last event that came."""
        self._ids: dict[str, str] = {}
        """The replay's id of each recorded event."""
        self._given = 1
        """The seq up to which what comes from outside was given; the first event is there from the beginning."""

    async def to_the_end(self) -> Replay:
        """Play, in one process after the other where the recording went on in another."""
        await anyio.Path(self._workspace).mkdir()
        while not await self._live():
            pass
        return Replay(
            events=self._stage.matched,
            calls=sum(call.begun <= self._stage.matched for call in self._recording.calls),
            from_log=self._from_log,
            difference=self._stage.difference,
        )

    async def _live(self) -> bool:
        """One process; whether the replay is over with it."""
        async with Runtime(self._store, tools=self._tools, client=self._client, analyzers=self._analyzers) as runtime:
            async with await self._group(runtime) as group:
                scope = self._stage.begin()
                try:
                    await group.begin()
                    with scope:
                        if await self._play(group):
                            return True
                        await self._go_on_elsewhere(runtime)
                finally:
                    self._stage.end()
        return self._stage.difference is not None

    async def _group(self, runtime: Runtime) -> ConversationGroup:
        if self._stage.matched:
            return await runtime.open(self._name)
        _, group = await runtime.create(self._recording.created.agent, self._workspace, self._name)
        return group

    async def _go_on_elsewhere(self, runtime: Runtime) -> None:
        """Fork, or leave the log to another process, as a crash leaves it."""
        self._life += 1
        if isinstance(self._recording.events[self._stage.matched], ConversationCreated):
            self._name = await runtime.fork(self._name, self._stage.matched, f"replayed-{self._life}")
            return
        following = self._scratch / f"store-{self._life}"
        kept = self._store / "conversations"
        await anyio.to_thread.run_sync(shutil.copytree, kept, following / "conversations")
        self._store = following

    async def _play(self, group: ConversationGroup) -> bool:
        """Compare event after event, and do what a person did; no when another process is to go on."""
        stage, events = self._stage, self._recording.events
        stream = group.feed.events(stage.matched)
        while stage.matched < len(events):
            due = events[stage.matched]
            if due.seq > self._given:
                if others := self._elsewhere(due):
                    self._given = due.seq + others - 1
                    return False
                if self._recording.by_a_person(due):
                    await self._do(group, due)
            await self._next(stream, due)
        if group.feed.state.seq > len(events):
            extra = await anext(stream)
            stage.differ(Difference(extra.seq, "type", "nothing: it ends here", self._outline(extra)))
            await anyio.lowlevel.checkpoint()
        return True

    async def _next(self, stream: AsyncIterator[Event], due: Event) -> None:
        """Hold the next event against the recorded one."""
        event: Event | None = None
        with anyio.move_on_after(self._patience):
            event = await anext(stream)
        cut = self._state.branch.cut
        recorded = self._recorded.facts(due, cut=cut)
        self._recorded.note(due)
        if event is None:
            difference: Difference | None = Difference(due.seq, "type", outline(recorded), "nothing: it waits")
        else:
            difference = compare(recorded, self._replayed.facts(event, cut=cut), due.seq)
            self._replayed.note(event)
            self._ids[due.id] = event.id
        if difference is not None:
            self._stage.differ(difference)
            await anyio.lowlevel.checkpoint()
        self._state = apply(self._state, due)
        self._stage.advance(due.seq)

    def _outline(self, event: Event) -> str:
        return outline(self._replayed.facts(event, cut=False))

    def _elsewhere(self, due: Event) -> int:
        """How many events another process logged first, when this is the first of them; else 0."""
        if isinstance(due, ConversationCreated):
            return len(forked(self._state, due))
        if not isinstance(due, _AFTER_A_CRASH):
            return 0
        closing = recovery(self._state)
        same = bool(closing) and type(closing[0]) is type(due) and _telling(closing[0]) == _telling(due)
        return len(closing) if same else 0

    async def _do(self, group: ConversationGroup, due: Event) -> None:
        """Do what a person did; what they said at once is one batch."""
        batch = self._batch(due)
        self._given = batch[-1].seq
        try:
            if isinstance(due, InterruptEvent):
                with anyio.move_on_after(self._patience):
                    await self._stage.all_at_work()
                if due.source == "environment":
                    await group.log.expire(group.feed.state.spec.limits.max_seconds or 0.0)
                else:
                    await group.log.interrupt(due.reason)
            else:
                await group.log.append(*(self._again(event) for event in batch))
        except LogError as refused:
            recorded = outline(self._recorded.facts(due, cut=False))
            self._stage.differ(Difference(due.seq, "type", recorded, f"refused: {refused}"))
            await anyio.lowlevel.checkpoint()

    def _batch(self, due: Event) -> list[Event]:
        """The event, and the refusals that came with it: one by one they would have been asked about again."""
        if not isinstance(due, UserRejectObservation):
            return [due]
        later = self._recording.events[due.seq :]
        return [due, *takewhile(lambda event: isinstance(event, UserRejectObservation), later)]

    def _again(self, event: Event) -> Event:
        """What came from outside, with the replay's ids."""
        match event:
            case UserRejectObservation() | ActionRevised():
                return replace(event, seq=0, action_id=self._ids.get(event.action_id, event.action_id))
            case ConfirmationGiven():
                return replace(event, seq=0, action_ids=tuple(self._ids.get(name, name) for name in event.action_ids))
            case _:
                return replace(event, seq=0)


def _telling(event: Event) -> object:
    """By what an event that closes what a crash left open is known from others of its type."""
    match event:
        case ModelCalled() | AgentErrorEvent():
            return event.error
        case DurabilityChanged():
            return event.epoch
        case _:
            return event.source
