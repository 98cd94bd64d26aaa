"""`DelegateActor`: has an action done by a child conversation, and passes on what people say."""

from __future__ import annotations

import contextlib
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio
import msgspec
from msgspec.structs import replace

from ..decisions import (
    Attend,
    Delegate,
    Seeing,
    announced,
    cut_short,
    ended,
    failed,
    left,
    over,
    relayed_down,
    relayed_up,
)
from ..errors import AgentrtError, LogCorrupt, LogFailed, NoLongerDue
from ..events import ActionEvent, ChildFinished, Event, ExecutionStatus, MessageEvent, ObservationEvent
from ..ledger import Child
from ..specs.content import plain
from ..state import State
from .children import Children, Leaving
from .dispatcher import Perform
from .event_log import Log

if TYPE_CHECKING:
    from .group import ConversationGroup

CUT_SECONDS = 3.0
"""Seconds that interrupted work in a child may take to end before the child is closed anyway."""


class DelegateActor(AbstractAsyncContextManager["DelegateActor"]):
    """Performs `Delegate` and `Attend`. Passes pauses, answers and interrupts down to the child, and its questions up.

    If `leaving` says that the conversation is only left, so is the child, and it goes on when that is opened again.
    """

    def __init__(self, log: Log, children: Children, leaving: Leaving = lambda child_id: False) -> None:
        self._log, self._children, self._leaving = log, children, leaving

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Run one child to its end. The outcome is one batch: what it used, and what it answered or how it failed."""
        assert isinstance(message.command, Delegate | Attend)
        command, below = message.command, _Below()
        if isinstance(command, Attend):
            await self._attend(command, below)
            return
        await self._log.append(*await self._outcome(command, below), command=command.id)

    async def _attend(self, command: Attend, below: _Below) -> None:
        """Run a background child to its end; again if a message came for it as it ended."""
        while command.child_id in self._log.state.background:
            events = await self._outcome(command, below)
            heard = len([event for event in self._child(command.child_id).messages if below.has_heard(event.id)])
            events = tuple(replace(e, heard=heard) if isinstance(e, ChildFinished) else e for e in events)
            try:
                await self._log.append(*events, command=command.id)
            except NoLongerDue:
                below = _Below()

    async def see_through(self, command: Attend) -> tuple[tuple[Event, ...], str]:
        """Run a child to its end, and return its outcome, which the caller appends, and why it failed, else what its
        agent said last.
        """
        below = _Below()
        try:
            return await self._delegated(command, below), below.problem or below.words
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), contextlib.suppress(AgentrtError):
                cut = cut_short(self._log.state, command, below.state, below.words)
                await self._log.append(*(event for event in cut if isinstance(event, ChildFinished)))
            raise

    async def _outcome(self, command: Seeing, below: _Below) -> tuple[Event, ...]:
        """Return the outcome, to be appended. If this is cancelled, it appends the outcome itself."""
        try:
            return await self._delegated(command, below)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), contextlib.suppress(AgentrtError):
                await self._log.append(*self._when_cut(command, below), command=command.id)
            raise

    async def _delegated(self, command: Seeing, below: _Below) -> tuple[Event, ...]:
        state = self._log.state
        child = state.ledger.children[command.child_id]
        try:
            async with self._children(command.child_id, child, state) as below.group:
                try:
                    below.end = await self._see_through(command.child_id, below.group)
                finally:
                    with anyio.CancelScope(shield=True), contextlib.suppress(AgentrtError):
                        await self._stop(command, below)
                        if over(state := below.group.feed.state, self._child(command.child_id)):
                            below.end = below.end or state
                        below.words = await _words(below.group)
        except AgentrtError as error:
            if below.end is None:
                below.problem = _told(error)
                return failed(self._log.state, command, below.state, below.words, below.problem)
        assert below.end is not None
        if below.end.status is ExecutionStatus.ERROR and below.end.error is not None:
            below.problem = below.end.error.detail
        return ended(command, below.end, below.words)

    def _when_cut(self, command: Seeing, below: _Below) -> tuple[Event, ...]:
        """Return the outcome after a cancellation: by an interrupt, or because the conversation is left or failed."""
        if below.end is not None:
            return ended(command, below.end, below.words)
        if self._interrupted(command):
            return cut_short(self._log.state, command, below.state, below.words)
        return left(self._log.state, command, below.state)

    def _interrupted(self, command: Seeing) -> bool:
        if isinstance(command, Attend):
            return self._child(command.child_id).cut and not self._leaving(command.child_id)
        return self._log.state.branch.cut and not self._leaving("")

    def _child(self, child_id: str) -> Child:
        return self._log.state.ledger.children[child_id]

    async def _see_through(self, child_id: str, group: ConversationGroup) -> State:
        """Return the state in which the child has ended. Others who have it open may go on with it from there."""
        while not over(state := group.feed.state, self._child(child_id)):
            if not self._child(child_id).open:  # a rewind has given it up
                await group.interrupt("the conversation that delegated this was rewound", CUT_SECONDS)
                return group.feed.state
            above = self._log.state
            if events := relayed_down(above, child_id, state):
                if first := announced(above, child_id, events):
                    await self._log.append(*first)
                else:
                    await group.log.append(*events)
            elif events := relayed_up(above, child_id, state):
                await self._log.append(*events)
            if self._log.state is above and group.feed.state is state:  # nothing to tell, or it came too late
                await self._change(group, state, above)
        return state

    async def _stop(self, command: Seeing, below: _Below) -> None:
        """Interrupt a child that still runs if this was interrupted. A child only left is cut with its group."""
        assert below.group is not None
        state, child = below.group.feed.state, self._child(command.child_id)
        if self._interrupted(command) and below.end is None and not over(state, child):
            await below.group.interrupt("the conversation that delegated this was interrupted", CUT_SECONDS)

    async def _change(self, group: ConversationGroup, state: State, above: State) -> None:
        """Return when something has happened in either conversation. Raise the error with which a log failed."""
        problem: AgentrtError | None = None
        async with anyio.create_task_group() as tasks:

            async def wait(log: Log, seq: int) -> None:
                nonlocal problem
                try:
                    await log.wait_for(lambda state: state.seq > seq)
                except AgentrtError as error:
                    problem = error
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait, group.log, state.seq)
            tasks.start_soon(wait, self._log, above.seq)
        if problem is not None:
            raise problem


class _Below:
    """The child conversation, as far as it was seen."""

    __slots__ = ("end", "group", "problem", "words")

    def __init__(self) -> None:
        self.group: ConversationGroup | None = None
        self.end: State | None = None
        """The state in which it has ended."""
        self.problem = ""
        """Why it failed."""
        self.words = ""
        """What its agent said last."""

    def has_heard(self, message_id: str) -> bool:
        """Return whether a message has arrived in the child; True if the child was never open, as none will arrive."""
        state = self.state
        return state is None or message_id in state.ledger.message_ids

    @property
    def state(self) -> State | None:
        """The state in which it has ended, else its last one, even after it was left; None if it was never open."""
        return self.end or (self.group.feed.state if self.group is not None else None)


def _told(error: AgentrtError) -> str:
    """Return what the delegating model sees of an error: no path of the store."""
    match error:
        case LogFailed(cause=cause):
            return f"its log cannot be written: {cause.strerror or cause}"
        case LogCorrupt(line=line, reason=reason):
            return f"its log is damaged: record {line}: {reason}"
        case _:
            return str(error)


async def _words(group: ConversationGroup) -> str:
    """Return what the agent of a conversation said last; a call that ends the turn counts once it was accepted."""
    match await group.log.newest(lambda seen: seen.answer):
        case ObservationEvent(action_id=action_id):
            called = await group.log.newest(lambda seen: seen.id == action_id)
            return _finishing(called) if isinstance(called, ActionEvent) else "nothing"
        case MessageEvent(content=content):
            return plain(content)
        case _:
            return "nothing"


def _finishing(action: ActionEvent) -> str:
    """Return the message of a call of `finish`, and its output if it has one."""
    given = msgspec.json.decode(action.arguments_json, type=dict[str, msgspec.Raw])
    said = [
        str(msgspec.json.decode(given[name])) if name == "message" else bytes(given[name]).decode()
        for name in ("message", "output")
        if name in given
    ]
    return "\n".join(said)
