"""`Conversation`: a person's end of an agent at work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..context.titles import checked_tags, one_line
from ..decisions import approval, rejection, waiting
from ..deltas import Delta
from ..errors import ConfigurationError
from ..events import (
    BudgetGranted,
    ConversationStateUpdateEvent,
    Cursor,
    Event,
    GoalSet,
    HeadMoved,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    RuleAdded,
    TagsChanged,
    TitleChanged,
)
from ..ids import new_id
from ..specs import AnyLLM, BusyPolicy, ConfirmationPolicy, Content, PermissionRule, replaced
from ..specs.content import text
from ..specs.rules import Scope
from ..specs.tool import FINISH
from ..state import Pending
from .hosted import HostedConversation
from .run import Run

INTERRUPT_SECONDS = 0.1
"""How long an interrupt waits for what it cut; what takes longer ends on its own."""


T = TypeVar("T", bound=msgspec.Struct)


class Conversation(HostedConversation):
    """A conversation with an agent; an async context manager.

    `Conversation(agent, workspace)` begins a new one, `Conversation(id=...)` reopens one from its log alone.
    Without a `runtime` it has its own, with the conversations in `store` (default: `~/.agentrt`). `tools` are
    implementations that the built-in ones do not cover, and `secrets` what its commands may name as variables: their
    values are in no event, prompt or log. Entering it raises a `ConfigurationError` or `LogError` that says what to do;
    leaving it interrupts what runs and keeps everything in the log.
    """

    __slots__ = ()

    @property
    def pending_confirmation(self) -> tuple[Pending, ...]:
        """The actions that wait for a person's word, with those of conversations that it delegated to."""
        return waiting(self.state)

    async def send_message(
        self, message: str | Iterable[Content], *, id: str | None = None, busy: BusyPolicy | str | None = None
    ) -> Cursor:
        """Say something to the agent; the same `id` twice counts once.

        While it works the message is treated by `Agent.busy`, or by `busy`: seen before its next model call
        ("enqueue"), at once ("steer", "interrupt"), or refused with `ConversationBusy` ("reject").
        """
        content = text(message) if isinstance(message, str) else tuple(message)
        event = MessageEvent(id=id or new_id(), source="user", content=content)
        policy = BusyPolicy(busy) if busy is not None else None
        async with self._host.use() as group:
            return await group.log.say(event, policy)

    def run(self, after: Cursor | int | None = None) -> Run:
        """Let the agent work: iterate over the events, or await it for the state at its end.

        The events are those from now on, or those after a cursor. It begins with the first iteration and ends when
        nothing is due. Leaving the iteration, or being slow, does not affect the run. Raises `UnknownModel` or
        `MissingKey` before anything is logged, `LogFailed` when the log fails.
        """
        return Run(self._host, self._runtime.client, after)

    async def pause(self) -> Cursor:
        """Begin nothing new; what runs may end. Effective when this returns."""
        return await self._append(PauseEvent())

    async def interrupt(self, reason: str = "") -> Cursor:
        """Cut what runs. The intent is durable when this returns; what was cut has its result in the log soon after."""
        async with self._host.use() as group:
            await group.interrupt(reason, INTERRUPT_SECONDS)
            return self.cursor

    async def confirm(
        self, *action_ids: str, always: Scope | None = None, rule: PermissionRule | None = None
    ) -> Cursor:
        """Approve actions that wait; all of them when none is named.

        `always` also allows the same from now on, without asking: in this conversation ("session"), or in all that work
        in its workspace ("project"). What "the same" is, `rule` says; else it is that command, edits of that file, or
        any call of that tool.
        """
        async with self._host.use() as group:
            events = approval(group.feed.state, action_ids, always, rule)
            if always == "project":
                await self._remember([event.rule for event in events if isinstance(event, RuleAdded)])
            return await group.log.append(*events) if events else self.cursor

    async def reject(self, reason: str = "Rejected by the user.", *action_ids: str) -> Cursor:
        """Refuse actions that wait, all of them when none is named; the agent sees the reason."""
        async with self._host.use() as group:
            return await group.log.append(*rejection(group.feed.state, reason, action_ids))

    async def add_rule(self, rule: PermissionRule, scope: Scope = "session") -> Cursor:
        """Have a permission rule hold from now on: in this conversation, or in all that work in its workspace."""
        if scope == "project":
            await self._remember([rule])
        return await self._append(RuleAdded(rule=rule, scope=scope))

    async def _remember(self, rules: Sequence[PermissionRule]) -> None:
        async with self._host.use() as group:
            created = group.feed.state.created
            assert created is not None
            await self._runtime.remember(created.workspace.path, rules)

    async def configure(self, **changes: Any) -> Cursor:
        """Change fields of the agent from now on: `configure(llm=..., confirmation=..., hooks=...)`.

        Raises `ConfigurationError` for a field that there is not, or a value that cannot be. Its tools and instructions
        stay as they were at the beginning.
        """
        async with self._host.use() as group:
            agent = group.feed.state.spec
            if unknown := changes.keys() - (set(agent.__struct_fields__) - {"tools", "system_prompt", "output"}):
                raise ConfigurationError(f"cannot change {', '.join(sorted(unknown))} of an agent that is at work")
            try:
                self._runtime.check(replaced(agent, changes))
            except msgspec.ValidationError as error:
                raise ConfigurationError(f"the agent cannot be changed so: {error}") from error
            events = [
                ConversationStateUpdateEvent(source="user", key=key, value=msgspec.Raw(msgspec.json.encode(value)))
                for key, value in changes.items()
            ]
            return await group.log.append(*events)

    async def set_confirmation_policy(self, policy: ConfirmationPolicy) -> Cursor:
        """Who is asked from now on; without an analyzer this sets the rules, so that no policy is silently off."""
        return await self.configure(confirmation=policy)

    async def set_security_analyzer(self, *names: str) -> Cursor:
        """Who rates actions from now on, of several the highest; nobody, when none is named and nobody is asked."""
        return await self.configure(analyzer=names or None)

    async def switch_llm(self, llm: AnyLLM) -> Cursor:
        """Which model answers from the next call on. Raises `UnknownModel` or `MissingKey`."""
        await self._runtime.client.prepare(llm)
        return await self.configure(llm=llm)

    async def set_goal(self, objective: str, *, judge: AnyLLM | None = None, max_iterations: int = 10) -> Cursor:
        """Hold what the agent finishes against an objective: a judge sends it back with what is missing, until it is
        reached or was judged `max_iterations` times. "" takes the goal back. See `state.ledger.goal`.
        """
        if max_iterations < 1:
            raise ConfigurationError(f"a goal cannot be judged {max_iterations} times: give 1 or more")
        return await self._append(GoalSet(objective=objective, judge=judge, max_iterations=max_iterations))

    async def ask_agent(self, question: str, *, llm: AnyLLM | None = None) -> str:
        """Ask something besides the task, also while it works: the answer comes from what the agent sees now, and
        leaves no trace in the history but its cost. Raises `ModelError`.
        """
        async with self._host.use() as group:
            return await group.calls.ask(question, llm)

    async def generate_title(self, *, llm: AnyLLM | None = None, max_length: int = 50) -> str:
        """Have a model make a title of the first message; where that fails it is the message, cut short."""
        async with self._host.use() as group:
            title = await group.calls.title(max_length, llm)
            await group.log.append(TitleChanged(title=title))
            return title

    async def rename(self, title: str) -> Cursor:
        """Give the conversation a title."""
        return await self._append(TitleChanged(title=one_line(title), source="user"))

    async def set_tags(self, tags: Mapping[str, str]) -> Cursor:
        """Replace the tags. Raises `ConfigurationError` for a key that is not of small letters and digits, or a value
        of more than 256 characters.
        """
        return await self._append(TagsChanged(tags=checked_tags(tags)))

    async def grant(self, amount: float) -> Cursor:
        """Allow it to spend so many USD more than `Limits.max_cost` says. Raises `ConfigurationError` for no amount."""
        if not 0 <= amount < float("inf"):
            raise ConfigurationError(f"cannot grant {amount} USD: give a number that is not negative")
        return await self._append(BudgetGranted(amount=amount))

    async def output(self, kind: type[T]) -> T | None:
        """What the agent gave to `finish` last, for an agent with an `output`; None before that.

        Raises `msgspec.ValidationError` when it is not of this kind.
        """
        async with self._host.use() as group:
            last = await group.log.newest(lambda seen: seen.tool_name == FINISH and seen.type == "ObservationEvent")
        if not isinstance(last, ObservationEvent):
            return None
        found = msgspec.json.decode(last.details, type=dict[str, msgspec.Raw] | None)
        return msgspec.json.decode(found["output"], type=kind) if found else None

    async def rewind(self, to: int) -> Cursor:
        """Go back to how it was after event `to`; nothing is erased. Raises `EventRefused` while it runs."""
        return await self._append(HeadMoved(to=to))

    async def rest(self, idle: float = 0.0) -> bool:
        """Let it leave memory now, unless something runs or it was used in the last `idle` seconds; whether it did.

        The runtime does so by itself. It comes back with the next message.
        """
        return await self._host.rest(idle)

    async def fork(self, at: Cursor | int | None = None, *, id: str | None = None) -> Conversation:
        """A new conversation, not yet entered, that shares the events up to `at` (all, when not given) and goes on by
        itself, in the same workspace and runtime, with the same secrets. What is open there is cancelled in it.

        Raises `CursorExpired`, `ConversationExists`, or `EventRefused` where the conversation has not begun.
        """
        async with self._host.use() as group:
            upto = group.feed.state.seq if at is None else self._seq(at)
            await group.log.sync()
            name = await self._runtime.fork(self.id, upto, id, group.secrets)
            fork = Conversation(id=name, tools=self._tools, runtime=self._runtime)
            fork._registry = group.secrets.copy()
        return fork

    def events(self, after: Cursor | int = 0) -> AsyncIterator[Event]:
        """The events after a cursor, up to the newest one now; they are read while it sleeps, too.

        Raises `CursorExpired` for one of an earlier epoch.
        """
        group, upto, seq = self._host.group, self.state.seq, self._seq(after)
        if group is None:
            return self._runtime.store.read(self.id, seq)
        return group.feed.events(seq, lambda state: state.seq >= upto)

    async def page(self, after: Cursor | int = 0, limit: int = 100) -> Sequence[Event]:
        """At most `limit` events after a cursor, all at once. Raises `CursorExpired` for one of an earlier epoch."""
        seq = self._seq(after)
        async with self._host.use() as group:
            return await group.feed.page(seq, min(seq + limit, group.feed.state.seq))

    async def stream(self, after: Cursor | int = 0) -> AsyncIterator[Event | Delta]:
        """The events after a cursor, then those to come as they come, with deltas in between; it ends with the
        conversation. Raises `CursorExpired` for a cursor of an earlier epoch.
        """
        host, seq = self._host, self._seq(after)
        while True:
            if (group := host.group) is not None:
                async for item in group.feed.stream(seq):
                    seq = seq if isinstance(item, Delta) else item.seq
                    yield item
                await host.settled()
            elif seq < host.state.seq:
                async for event in self._runtime.store.read(self.id, seq):
                    seq = event.seq
                    yield event
            elif host.closed:
                return
            else:
                await host.woken()
