"""`replay`: runs a recorded conversation through the runtime, in memory and a scratch workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..actors.analyzers import ANALYZERS
from ..actors.group import ConversationGroup, Parts
from ..context.prompt import system_prompt
from ..context.resolving import Resolved
from ..decisions import recovery, said
from ..errors import LogError
from ..events import (
    AgentErrorEvent,
    ChildAnswered,
    ChildStarted,
    ConfirmationGiven,
    ContextResolved,
    ConversationCreated,
    ConversationStateUpdateEvent,
    Event,
    InterruptEvent,
    MessageEvent,
    RuleAdded,
    UserRejectObservation,
)
from ..ids import new_id
from ..runtime import Runtime
from ..scratch import runtime_directory
from ..specs import Agent, BusyPolicy
from ..specs.condensers import named_condensers
from ..state import Branch, State, apply
from ..storage import MemoryStorage
from ..tools import ToolType
from .comparing import Difference, Side, compare, outline
from .model import RecordedModel
from .performers import critics_of, stand_ins
from .recording import Recording
from .stage import Stage
from .tools import servers_tools, tools_of

PATIENCE = 5.0
"""Seconds after which a missing recorded event counts as a difference."""

_ANSWERS = (ConfirmationGiven, UserRejectObservation, RuleAdded, ChildAnswered)
_TOGETHER = (_ANSWERS, (ConversationStateUpdateEvent,))
"""A person's input that must be given in one batch: given one by one, the rules would continue in between."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a replay: `events` matched the recording, with `calls` model calls, up to the first difference."""

    events: int
    calls: int
    from_log: tuple[str, ...] = ()
    """Tools without an implementation here: their definitions were taken from the log."""
    difference: Difference | None = None


async def replay(events: Sequence[Event], tools: Iterable[ToolType] = (), *, patience: float = PATIENCE) -> Replay:
    """Run a conversation again with its recorded replies and results, and find the first difference.

    Everything in between is real: the decisions, the log, the rating of actions, the messages to the model, the
    consequences of hooks' and judges' results. No tool, hook, critic, judge or delegated conversation is run, and
    nothing outside a scratch directory is touched. `tools` are the implementations of tools that are not built in, for
    their definitions and checks. Raises `ValueError` if the events are not the beginning of a log, and
    `ConfigurationError` if the agent cannot be created here.
    """
    recording = Recording(events)
    async with runtime_directory.temporary("replay-") as scratch:
        return await _Player(recording, tools, Path(scratch), patience).to_the_end()


class _Player:
    def __init__(self, recording: Recording, tools: Iterable[ToolType], scratch: Path, patience: float) -> None:
        self._recording, self._patience = recording, patience
        self._workspace = scratch / "workspace"
        self._recorded = Side({})
        self._names = {str(self._workspace): recording.created.workspace.path}
        """Maps texts of the replay to those of the recording."""
        self._replayed = Side({}, self._names)
        self._stage = Stage(recording)
        self._tools, self._from_log = tools_of(recording, self._stage, tools)
        self._client = RecordedModel(recording, self._stage, self._recorded, self._replayed)
        self._performers = stand_ins(recording, self._stage, ANALYZERS, self._from_log)
        self._store, self._name, self._life = MemoryStorage(), "replayed-1", 1
        """The storage of the replay, the conversation's id in it, and the number of processes so far."""
        self._state = State()
        """The recording's state after the last matched event."""
        self._ids: dict[str, str] = {}
        """The replay's id of each recorded event."""
        self._given = 1
        """The seq up to which outside events were inserted; the first event is there from the beginning."""

    async def to_the_end(self) -> Replay:
        """Play all of it, with a new process at each point where another process continued the recording."""
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
        """Play one process, and return whether the replay is finished."""
        async with self._runtime() as runtime:
            async with await self._group(runtime) as group:
                scope = self._stage.begin()
                try:
                    await self._begin(group)
                    with scope:
                        if await self._play(group):
                            return True
                        await self._go_on_elsewhere(runtime)
                finally:
                    self._stage.end()
        return self._stage.difference is not None

    async def _begin(self, group: ConversationGroup) -> None:
        """Append the first batch, or the events that close what the last process left open; the rest comes from
        outside.
        """
        if not self._stage.matched:
            await group.begin()
        elif events := recovery(group.feed.state):
            await group.log.append(*events)

    def _runtime(self) -> Runtime:
        """Return a runtime with all names of the recording, without secrets, whose performers run nothing."""
        agents = self._recording.agents
        return Runtime(
            self._store,
            tools=self._tools,
            client=self._client,
            environment={},
            analyzers={name: _stub for agent in agents for name in agent.analyzers if name not in ANALYZERS},
            hooks={hook.function: _stub for agent in agents for hook in agent.hooks if hook.function is not None},
            condensers={name: _stub for agent in agents for name in named_condensers(agent.condenser)},
            critics=dict.fromkeys(critics_of(self._recording), _stub),
            resolve=self._resolved,
            recast=self._recast,
        )

    async def _resolved(self, agent: Agent, *_: object) -> Resolved:
        """Return the recorded context of the agent, whose files may be gone; its other instructions are recomputed,
        unless both were one.
        """
        told, prompt = self._recording.context, self._recording.prompt
        dynamic = prompt.dynamic_context if prompt is not None else ""
        static = prompt.system_prompt if prompt is not None and not dynamic else system_prompt(agent)
        event = replace(told, seq=0, id=new_id()) if told is not None else ContextResolved()
        return Resolved(agent=agent, prompt=static, dynamic=dynamic, event=event)

    def _recast(self, parts: Parts) -> Parts:
        parts.tools.learn(servers_tools(self._recording, self._stage))
        return replace(parts, client=self._client, performers=self._performers, connections=None, beside=None)

    async def _group(self, runtime: Runtime) -> ConversationGroup:
        if self._stage.matched:
            return await runtime.open(self._name)
        created = self._recording.created
        above = None
        if created.delegated_by is not None:
            over = replace(created, conversation_id=created.delegated_by, depth=created.depth - 1)
            above = State(created=over, branch=Branch(labels=created.labels))
        _, group = await runtime.create(created.agent, self._workspace, self._name, above=above)
        return group

    async def _go_on_elsewhere(self, runtime: Runtime) -> None:
        """Fork, or leave the log to another process as a crash would."""
        self._life += 1
        if isinstance(self._recording.events[self._stage.matched], ConversationCreated):
            self._name = await runtime.fork(self._name, self._stage.matched, f"replayed-{self._life}")
            return
        self._store = self._store.copy()

    async def _play(self, group: ConversationGroup) -> bool:
        """Compare the events, and do what a person did; return False when another process is to continue."""
        stage, events = self._stage, self._recording.events
        stream = group.feed.events(stage.matched)
        while stage.matched < len(events):
            due = events[stage.matched]
            if due.seq > self._given:
                if others := self._recording.handovers.get(due.seq):
                    self._given = due.seq + others - 1
                    return False
                if self._recording.from_outside(due):
                    await self._do(group, due)
            await self._next(stream, due)
        if group.feed.state.seq > len(events):
            extra = await anext(stream)
            stage.differ(Difference(extra.seq, "type", "nothing: it ends here", self._outline(extra)))
            await anyio.lowlevel.checkpoint()
        return True

    async def _next(self, stream: AsyncIterator[Event], due: Event) -> None:
        """Compare the next event with the recorded one."""
        event: Event | None = None
        with anyio.move_on_after(self._patience):
            event = await anext(stream)
        cut = self._state.branch.cut
        self._recorded.note(due)
        recorded = self._recorded.facts(due, cut=cut)
        if event is None:
            difference: Difference | None = Difference(due.seq, "type", outline(recorded), "nothing: it waits")
        else:
            self._replayed.note(event)
            difference = compare(recorded, self._replayed.facts(event, cut=cut), due.seq)
            self._ids[due.id] = event.id
            if isinstance(due, ChildStarted) and isinstance(event, ChildStarted):
                self._ids[due.child_id] = event.child_id
                self._client.renamed[due.child_id] = event.child_id
                self._names[event.child_id] = due.child_id
        if difference is not None:
            self._stage.differ(difference)
            await anyio.lowlevel.checkpoint()
        self._state = apply(self._state, due)
        self._stage.advance(due.seq)

    def _outline(self, event: Event) -> str:
        return outline(self._replayed.facts(event, cut=False))

    async def _do(self, group: ConversationGroup, due: Event) -> None:
        """Do what a person did; inputs given together are one batch."""
        batch = self._batch(due)
        self._given = batch[-1].seq
        try:
            if isinstance(due, InterruptEvent):
                with anyio.move_on_after(self._patience):
                    await self._stage.all_at_work()
                await self._interrupt(group, due, batch[-1])
            else:
                await group.log.append(*(self._again(event) for event in batch))
        except LogError as refused:
            recorded = outline(self._recorded.facts(due, cut=False))
            self._stage.differ(Difference(due.seq, "type", recorded, f"refused: {refused}"))
            await anyio.lowlevel.checkpoint()

    async def _interrupt(self, group: ConversationGroup, due: InterruptEvent, last: Event) -> None:
        """Interrupt the run: at the time limit, with a message that continues, or at a person's request."""
        if due.source == "environment" and not due.goes_on:
            await group.log.expire(group.feed.state.spec.limits.max_seconds or 0.0)
        elif isinstance(last, MessageEvent):
            message = replace(last, seq=0)
            await group.log.say(message, _policy(self._state, message, due))
        else:
            await group.log.interrupt(due.reason)

    def _batch(self, due: Event) -> list[Event]:
        """Return the event, and those that were given with it."""
        later = self._recording.events[due.seq :]
        if isinstance(due, InterruptEvent) and due.goes_on:
            closed = [*takewhile(lambda event: isinstance(event, AgentErrorEvent), later)]
            return [due, *closed, *later[len(closed) : len(closed) + 1]]
        kinds = next((kinds for kinds in _TOGETHER if isinstance(due, kinds)), ())
        together = takewhile(lambda event: isinstance(event, kinds) and self._recording.from_outside(event), later)
        return [due, *together]

    def _again(self, event: Event) -> Event:
        """Return an outside event, with the replay's ids."""
        changes: dict[str, Any] = {
            name: self._ids[known]
            for name in ("action_id", "child_id", "within")
            if (known := getattr(event, name, None)) in self._ids
        }
        if isinstance(event, ConfirmationGiven):
            changes["action_ids"] = tuple(self._ids.get(name, name) for name in event.action_ids)
        return replace(event, seq=0, **changes)


def _policy(state: State, message: MessageEvent, interrupt: InterruptEvent) -> BusyPolicy:
    """Return the policy by which a message interrupts as it did in the recording."""
    for policy in (BusyPolicy.STEER, BusyPolicy.INTERRUPT):
        first = said(state, message, policy)[0]
        if isinstance(first, InterruptEvent) and first.reason == interrupt.reason:
            return policy
    return BusyPolicy.ENQUEUE


def _stub(*_: object) -> Any:
    """Return a placeholder for an implementation that no replay calls."""
    raise AssertionError("a replay runs nothing")
