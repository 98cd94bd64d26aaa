"""`DelegateActor`: has an action done by a conversation of its own, and passes on what people say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

import anyio
import msgspec
from msgspec.structs import replace

from ..decisions import Attend, Delegate, Seeing, cut_short, ended, failed, left, over, relayed_down, relayed_up
from ..errors import AgentrtError, NoLongerDue
from ..events import ActionEvent, ChildFinished, Event, MessageEvent, ObservationEvent
from ..ledger import Child
from ..specs.content import plain
from ..state import State
from .dispatcher import Perform
from .event_log import Log

if TYPE_CHECKING:
    from .group import ConversationGroup

Children: TypeAlias = Callable[[str, Child, State], AbstractAsyncContextManager["ConversationGroup"]]
"""Opens the conversation that is delegated to, by its id, what it is to do, and the state of the one that delegates;
begins it when there is none. Others may have it open, too. When the body ends with an exception it is stopped, and out
of memory when that is over. Raises `ConfigurationError` or `LogError`."""

Leaving: TypeAlias = Callable[[str], bool]
"""Whether a conversation is only left, for what it delegated and for a task in the background by its id."""

CUT_SECONDS = 3.0
"""How long what is cut below may take to end before its conversation is closed over it."""


class DelegateActor(AbstractAsyncContextManager["DelegateActor"]):
    """Performs `Delegate` and `Attend`. Pauses, answers and interrupts go down to the child; what waits in it comes up.

    `leaving` says whether the conversation is only left: then the child is, too, and goes on when it is opened again.
    """

    def __init__(self, log: Log, children: Children, leaving: Leaving = lambda child_id: False) -> None:
        self._log, self._children, self._leaving = log, children, leaving

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """See one child through; its outcome is one batch: what it used, and what it answered or how it failed."""
        assert isinstance(message.command, Delegate | Attend)
        command, below = message.command, _Below()
        if isinstance(command, Attend):
            await self._attend(command, below)
            return
        await self._log.append(*await self._outcome(command, below), command=command.id)

    async def _attend(self, command: Attend, below: _Below) -> None:
        """See one in the background through, once more where something was said to it as it ended."""
        while command.child_id in self._log.state.background:
            events = await self._outcome(command, below)
            heard = len([event for event in self._child(command.child_id).messages if below.has_heard(event.id)])
            events = tuple(replace(e, heard=heard) if isinstance(e, ChildFinished) else e for e in events)
            try:
                await self._log.append(*events, command=command.id)
            except NoLongerDue:
                below = _Below()

    async def see_through(self, command: Attend) -> tuple[tuple[Event, ...], str]:
        """See one through whose outcome is somebody else's: its outcome, and what its agent said last."""
        below = _Below()
        try:
            return await self._delegated(command, below), below.words
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), contextlib.suppress(AgentrtError):
                cut = cut_short(self._log.state, command, below.state, below.words)
                await self._log.append(*(event for event in cut if isinstance(event, ChildFinished)))
            raise

    async def _outcome(self, command: Seeing, below: _Below) -> tuple[Event, ...]:
        """Its outcome, to be appended; where this is cancelled, it has been."""
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
                return failed(self._log.state, command, below.state, below.words, str(error))
        assert below.end is not None
        return ended(command, below.end, below.words)

    def _when_cut(self, command: Seeing, below: _Below) -> tuple[Event, ...]:
        """Its outcome when it was cancelled: by an interrupt, or since the conversation is left or has failed."""
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
        """The state in which the child has ended; whoever else has it open may go on with it from there."""
        while not over(state := group.feed.state, self._child(child_id)):
            if not self._child(child_id).open:  # a rewind has given it up
                await group.interrupt("the conversation that delegated this was rewound", CUT_SECONDS)
                return group.feed.state
            above = self._log.state
            if events := relayed_down(above, child_id, state):
                await group.log.append(*events)
            elif events := relayed_up(above, child_id, state):
                await self._log.append(*events)
            else:
                await self._change(group, state, above)
        return state

    async def _stop(self, command: Seeing, below: _Below) -> None:
        """Cut what still runs below when this was interrupted; what is only left is cut when its group is."""
        assert below.group is not None
        state, child = below.group.feed.state, self._child(command.child_id)
        if self._interrupted(command) and below.end is None and not over(state, child):
            await below.group.interrupt("the conversation that delegated this was interrupted", CUT_SECONDS)

    async def _change(self, group: ConversationGroup, state: State, above: State) -> None:
        """Return when something has happened in either conversation. Raises what its log failed with."""
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
    """The conversation that is delegated to, as far as it was seen."""

    __slots__ = ("end", "group", "words")

    def __init__(self) -> None:
        self.group: ConversationGroup | None = None
        self.end: State | None = None
        """The state in which it has ended."""
        self.words = ""
        """What its agent said last."""

    def has_heard(self, message_id: str) -> bool:
        """Whether a message has arrived in it; what was never open hears nothing more."""
        state = self.state
        return state is None or message_id in state.ledger.message_ids

    @property
    def state(self) -> State | None:
        """The state in which it has ended, else its last one, also after it was left; None when it was never open."""
        return self.end or (self.group.feed.state if self.group is not None else None)


async def _words(group: ConversationGroup) -> str:
    """What the agent of a conversation said last: a call that ends the turn counts once it was accepted."""
    match await group.log.newest(lambda seen: seen.answer):
        case ObservationEvent(action_id=action_id):
            called = await group.log.newest(lambda seen: seen.id == action_id)
            return _finishing(called) if isinstance(called, ActionEvent) else "nothing"
        case MessageEvent(content=content):
            return plain(content)
        case _:
            return "nothing"


def _finishing(action: ActionEvent) -> str:
    """The words of a call of `finish`, and its output where it has one."""
    given = msgspec.json.decode(action.arguments, type=dict[str, msgspec.Raw])
    said = [
        str(msgspec.json.decode(given[name])) if name == "message" else bytes(given[name]).decode()
        for name in ("message", "output")
        if name in given
    ]
    return "\n".join(said)
