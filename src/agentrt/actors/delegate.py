"""`DelegateActor`: has an action done by a conversation of its own, and passes on what people say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

import anyio
import msgspec

from ..decisions import Delegate, action_error, approval, rejection, waiting_in
from ..errors import AgentrtError
from ..events import (
    ActionEvent,
    ChildFinished,
    ChildWaiting,
    Event,
    ExecutionStatus,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    RunRequested,
)
from ..ids import new_id
from ..ledger import Child
from ..specs.content import plain, text
from ..specs.tool import FINISH
from ..state import State
from .dispatcher import Perform
from .event_log import Log

if TYPE_CHECKING:
    from .group import ConversationGroup

Children: TypeAlias = Callable[[str, Child, State], AbstractAsyncContextManager["ConversationGroup"]]
"""Opens the conversation that is delegated to, by its id, what it is to do, and the state of the one that delegates;
begins it when there is none. Raises `ConfigurationError` or `LogError`."""

_OVER = (ExecutionStatus.FINISHED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)


class DelegateActor(AbstractAsyncContextManager["DelegateActor"]):
    """Performs `Delegate`. Pauses, answers and interrupts go down to the child; what waits in it comes up."""

    def __init__(self, log: Log, children: Children) -> None:
        self._log, self._children = log, children

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """See one child through; its outcome is one batch: what it used, and what it answered or how it failed."""
        assert isinstance(message.command, Delegate)
        command, observation_id = message.command, new_id()
        state = self._log.state
        child = state.ledger.children[command.child_id]
        try:
            async with self._children(command.child_id, child, state) as group:
                try:
                    await self._see_through(command.child_id, child, group)
                except anyio.get_cancelled_exc_class():
                    with anyio.CancelScope(shield=True):
                        await group.interrupt("the conversation that delegated this was interrupted", 0.1)
                        words = (
                            f"Interrupted: the work of {command.child_id} was cut. It said last: {await _words(group)}"
                        )
                        cut = (_finished(command.child_id, group.feed.state), action_error(command.action, words))
                        await self._log.append(*cut, command=command.id)
                    raise
                ended = group.feed.state
                events = (_finished(command.child_id, ended), await _observed(observation_id, command, group))
        except AgentrtError as error:
            failed = ChildFinished(child_id=command.child_id, status=ExecutionStatus.ERROR)
            events = (failed, action_error(command.action, f"The task could not be delegated: {error}"))
        await self._log.append(*events, command=command.id)

    async def _see_through(self, child_id: str, child: Child, group: ConversationGroup) -> None:
        task = MessageEvent(id=f"{child_id}-task", source="user", content=text(child.task))
        if task.id not in group.feed.state.ledger.message_ids:
            await group.log.append(task)
            await group.log.append(RunRequested())
        while (state := group.feed.state).status not in _OVER or not state.at_rest:
            above = self._log.state
            if not await self._pass_on(child_id, group, state, above):
                await self._change(group, state, above)

    async def _pass_on(self, child_id: str, group: ConversationGroup, state: State, above: State) -> bool:
        """Bring down what was said above, and up what is asked below; whether there was anything."""
        mine = above.ledger.children[child_id]
        for answer in mine.answers:
            chosen = (answer.action_id,)
            events = approval(state, chosen) if answer.approved else rejection(state, answer.reason, chosen)
            if events:
                await group.log.append(*events)
                return True
        if (paused := above.status is ExecutionStatus.PAUSED) and state.status is ExecutionStatus.RUNNING:
            await group.log.append(PauseEvent(reason="the conversation that delegated this was paused"))
            return True
        if not paused and state.status in (ExecutionStatus.PAUSED, ExecutionStatus.IDLE):
            await group.log.append(RunRequested())
            return True
        asked = waiting_in(state)
        if asked != mine.waiting:
            await self._log.append(ChildWaiting(child_id=child_id, actions=asked))
            return True
        return False

    async def _change(self, group: ConversationGroup, state: State, above: State) -> None:
        """Return when something has happened in either conversation."""
        async with anyio.create_task_group() as tasks:

            async def wait(log: Log, seq: int) -> None:
                await log.wait_for(lambda state: state.seq > seq)
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait, group.log, state.seq)
            tasks.start_soon(wait, self._log, above.seq)


def _finished(child_id: str, state: State) -> ChildFinished:
    steps = state.ledger.commands + sum(child.steps for child in state.ledger.children.values())
    return ChildFinished(
        child_id=child_id, status=state.status, cost=state.ledger.cost, spending=state.ledger.spending, steps=steps
    )


async def _observed(observation_id: str, command: Delegate, group: ConversationGroup) -> Event:
    state, action = group.feed.state, command.action
    words = await _words(group)
    match state.status:
        case ExecutionStatus.FINISHED:
            said = words
        case ExecutionStatus.STUCK:
            said = f"It was stopped because it repeated itself. It said last: {words}"
        case _:
            said = f"It failed: {state.error.detail if state.error else 'for no known reason'}. It said last: {words}"
    return ObservationEvent(
        id=observation_id,
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        content=text(f"{said}\n[conversation {command.child_id}]"),
        is_error=state.status is not ExecutionStatus.FINISHED,
        labels=state.branch.labels,
        caused_by=action.id,
    )


async def _words(group: ConversationGroup) -> str:
    """What the agent of a conversation said last."""
    for seen in reversed(group.feed.state.branch.view):
        if seen.answer or (seen.type == "ActionEvent" and seen.tool_name == FINISH):
            (event,) = await group.log.load([seen])
            if isinstance(event, ActionEvent):
                return str(msgspec.json.decode(event.arguments, type=dict[str, object]).get("message", ""))
            assert isinstance(event, MessageEvent)
            return plain(event.content)
    return "nothing"
