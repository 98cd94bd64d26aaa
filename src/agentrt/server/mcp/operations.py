"""The tools of the MCP server: what another agent may do with conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import anyio
import msgspec
from msgspec import Meta

from ...controls import Fork, Forked, Interrupt, Rename, SendMessage
from ...conversation import Conversation
from ...deltas import Delta
from ...errors import ConfigurationError
from ...events import Event
from ...specs import ToolAnnotations
from ...state import State
from ..hosting import Hosting
from ..permissions import require
from ..principals import Principal, Scope
from .answers import Happened, Named, Row, Rows, Standing, standing_of
from .telling import headline, told

Report: TypeAlias = Callable[[int, str], Awaitable[None]]
"""Tells who called how far a call has come: a number that grows, and a line."""

Id: TypeAlias = Annotated[str, Meta(description="The id of a conversation, as start_conversation gives it.")]
After: TypeAlias = Annotated[int, Meta(ge=0, description="Only events after this one: the cursor of the last answer.")]
Wait: TypeAlias = Annotated[float, Meta(ge=0, le=300, description="Seconds to wait, at most.")]
MOST_EVENTS = 200


class Caller(msgspec.Struct, frozen=True):
    """On whose behalf a tool is called, and who is told how far it has come."""

    hosting: Hosting
    principal: Principal
    report: Report


class StartConversation(msgspec.Struct, forbid_unknown_fields=True):
    """Have an agent work on a task, in a conversation of its own. It goes on in the background: `wait` for it."""

    task: Annotated[str, Meta(min_length=1, description="What the agent is to do, with all that it needs to know.")]
    workspace: Annotated[
        str | None, Meta(description="The directory to work in; without one, a new directory of the server.")
    ] = None
    title: str = ""


class SendMessageTo(msgspec.Struct, forbid_unknown_fields=True):
    """Say something to an agent, which goes on with it."""

    conversation: Id
    message: Annotated[str, Meta(min_length=1)]


class WaitFor(msgspec.Struct, forbid_unknown_fields=True):
    """Wait until an agent has finished, asks a person or is stopped, and get what has happened.

    Where it is still at work after so many seconds, call this again with the cursor of the answer.
    """

    conversation: Id
    after: After = 0
    timeout: Wait = 60.0


class ReadEvents(msgspec.Struct, forbid_unknown_fields=True):
    """Read what has happened in a conversation, without waiting."""

    conversation: Id
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_EVENTS)] = 50


class ListConversations(msgspec.Struct, forbid_unknown_fields=True):
    """List conversations, those written last first."""

    query: Annotated[str, Meta(description="Words of the title.")] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class InterruptConversation(msgspec.Struct, forbid_unknown_fields=True):
    """Cut what an agent does. It goes on with the next message."""

    conversation: Id
    reason: str = ""


class ForkConversation(msgspec.Struct, forbid_unknown_fields=True):
    """Begin a conversation that shares the first events of another one, to try something else from there."""

    conversation: Id
    at: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="The last event that they share; without one, all.")
    ] = None
    title: str = ""
    files: Annotated[
        bool, Meta(description="Whether it works in a copy of the workspace, with the files as they were then.")
    ] = False


class ConfirmActions(msgspec.Struct, forbid_unknown_fields=True):
    """Have a person answer for the actions that wait for one, and what tools ask a person. You cannot answer yourself:
    the person is asked by your program, where it can, or answers in the console.
    """

    conversation: Id


async def start(call: StartConversation, caller: Caller) -> Standing | Named:
    """Begin a conversation and its run. Raises what `Hosting.create` does."""
    hosting, principal = caller.hosting, caller.principal
    agent = await hosting.saved.latest()
    if agent is None:
        raise ConfigurationError("this server has no agent of its own: start it with --model")
    await hosting.runtime.client.prepare(agent.llm)  # what cannot run is told before it is begun
    conversation = await hosting.create(agent, principal, call.workspace)
    if call.title:
        await conversation.do(Rename(call.title), principal.owner)
    await conversation.do(SendMessage(content=call.task, run=True), principal.owner)
    return await standing(conversation, caller)


async def send(call: SendMessageTo, caller: Caller) -> Standing | Named:
    """Say something, and run."""
    said = SendMessage(content=call.message, run=True)
    await caller.hosting.do(call.conversation, said, caller.principal)
    return await standing(await caller.hosting.get(call.conversation, caller.principal), caller)


async def wait(call: WaitFor, caller: Caller) -> Happened | Named:
    """Wait for the end of a run or for a question to a person, `timeout` seconds at most and `MOST_EVENTS` events."""
    require(caller.principal, Scope.OBSERVE)
    conversation = await caller.hosting.read(call.conversation, caller.principal)
    seen = await _first(conversation, call.after, MOST_EVENTS)
    if line := next((line for event in reversed(seen) if (line := headline(event))), ""):
        await caller.report(seen[-1].seq, line)
    if len(seen) < MOST_EVENTS and not _waits(await whole(conversation, caller)):
        with anyio.move_on_after(call.timeout):
            async for item in conversation.stream(seen[-1].seq if seen else call.after):
                if isinstance(item, Delta):
                    continue
                seen.append(item)
                if line := headline(item):
                    await caller.report(item.seq, line)
                state = conversation.state
                if len(seen) == MOST_EVENTS or (_waits(state) and item.seq >= state.seq):
                    break
    return await _happened(conversation, caller, seen, call.after)


async def read(call: ReadEvents, caller: Caller) -> Happened | Named:
    """The events of a conversation after a cursor."""
    require(caller.principal, Scope.OBSERVE)
    conversation = await caller.hosting.read(call.conversation, caller.principal)
    seen = await _first(conversation, call.after, call.limit)
    return await _happened(conversation, caller, seen, call.after)


def _waits(state: State) -> bool:
    """Whether nothing happens until somebody does something."""
    return state.at_rest or bool(state.branch.inputs)


async def _first(conversation: Conversation, after: int, most: int) -> list[Event]:
    """The first events after a cursor: who asks again with the last one's number misses none."""
    seen: list[Event] = []
    async for event in conversation.events(after):
        seen.append(event)
        if len(seen) == most:
            break
    return seen


async def list_(call: ListConversations, caller: Caller) -> Rows:
    """The conversations that the principal sees."""
    require(caller.principal, Scope.OBSERVE)
    rows = await caller.hosting.page(caller.principal, call.limit, query=call.query)
    return Rows([Row(row.id, title=row.title, status=row.status, updated=row.updated.isoformat()) for row in rows])


async def interrupt(call: InterruptConversation, caller: Caller) -> Standing | Named:
    """Cut what runs."""
    await caller.hosting.do(call.conversation, Interrupt(reason=call.reason), caller.principal)
    return await standing(await caller.hosting.get(call.conversation, caller.principal), caller)


async def fork(call: ForkConversation, caller: Caller) -> Standing | Named:
    """Begin a conversation that shares events."""
    made = await caller.hosting.do(
        call.conversation, Fork(at=call.at, title=call.title, files=call.files), caller.principal
    )
    assert isinstance(made, Forked)
    return await standing(await caller.hosting.get(made.id, caller.principal), caller)


async def whole(conversation: Conversation, caller: Caller) -> State:
    """The state of a conversation, also of one that sleeps."""
    state = conversation.state
    return state if state.created is not None else await caller.hosting.runtime.store.history(conversation.id).state()


async def standing(conversation: Conversation, caller: Caller) -> Standing | Named:
    """How a conversation stands; its name alone for a key that may not read."""
    if not caller.principal.may(Scope.OBSERVE):
        return Named(conversation.id)
    return standing_of(conversation.id, await whole(conversation, caller))


async def _happened(conversation: Conversation, caller: Caller, seen: Sequence[Event], after: int) -> Happened | Named:
    found = standing_of(conversation.id, await whole(conversation, caller))
    shown = [said for event in seen if (said := told(event)) is not None]
    stands = {name: getattr(found, name) for name in found.__struct_fields__}
    return Happened(**{**stands, "events": shown, "cursor": seen[-1].seq if seen else after})


class Operation(msgspec.Struct, frozen=True):
    """A tool: the struct of its arguments, whose words describe it, what it does, and the struct of its answer."""

    arguments: type[msgspec.Struct]
    handle: Callable[[Any, Caller], Awaitable[msgspec.Struct]]
    answer: type[msgspec.Struct] = Standing
    annotations: ToolAnnotations = ToolAnnotations(destructive=False, open_world=False)

    @property
    def description(self) -> str:
        """What the model is told."""
        return " ".join((self.arguments.__doc__ or "").split())


_READS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
_WORKS = ToolAnnotations(destructive=True, open_world=True)

OPERATIONS: Mapping[str, Operation] = {
    "start_conversation": Operation(StartConversation, start, annotations=_WORKS),
    "send_message": Operation(SendMessageTo, send, annotations=_WORKS),
    "wait": Operation(WaitFor, wait, Happened, _READS),
    "read_events": Operation(ReadEvents, read, Happened, _READS),
    "list_conversations": Operation(ListConversations, list_, Rows, _READS),
    "interrupt": Operation(InterruptConversation, interrupt),
    "fork": Operation(ForkConversation, fork),
}
