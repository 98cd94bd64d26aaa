"""`Conversation`: the caller's interface to a running agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast, overload

from ..context.titles import Naming
from ..controls import (
    AskAgent,
    Condense,
    Confirm,
    Fork,
    GenerateTitle,
    GiveInput,
    GiveResult,
    Interrupt,
    Pause,
    Reject,
    Rewind,
    SendMessage,
    SetGoal,
    StartRun,
)
from ..decisions import awaiting, waiting
from ..errors import ConfigurationError
from ..events import Cursor, InputRequested, InputVerdict
from ..protocols import ModelClient, Storage
from ..runtime import Runtime
from ..secrets import AnySecret
from ..specs import (
    Agent,
    AnyLLM,
    BusyPolicy,
    Content,
    PermissionRule,
    RemoteWorkspace,
    WorkspaceSpec,
)
from ..specs.given import converted, instance
from ..specs.llm import as_llm
from ..specs.rules import Scope
from ..state import Pending, State
from ..tools import AnyTool
from .end import End
from .ends import end_of
from .run import Run, answer_of
from .servers import ConversationServers
from .steering import Steering
from .workspace import Workspace, WorkspaceHandle

if TYPE_CHECKING:
    from .callbacks import EventCallback, EventCaller

T = TypeVar("T")


class Conversation(Steering):
    """A conversation with an agent; an async context manager.

    `Conversation(agent, workspace)` begins a new one. `Conversation(id=...)` reopens one from its log alone. Without a
    `runtime` it has its own, with the conversations in `store` (default: `~/.agentrt`). `tools` are functions and other
    implementations in addition to the built-in tools. `secrets` are values that commands may use as environment
    variables; the values appear in no event, prompt or log. `title` and `tags` are for a new conversation. No action
    needs confirmation unless `Agent.confirmation` says so. Entering raises a `ConfigurationError` or `LogError` that
    says what to do. Leaving interrupts running work, unless the conversation is also open elsewhere in the same
    runtime, and keeps everything in the log. `on_event`, a function or a coroutine function, is called with each event:
    all those of a new conversation, and the new ones of one that is reopened. If it raises, the body of the `async
    with` is cancelled, and that error leaves it.

    With a `RemoteWorkspace` it runs on a server, also when it is reopened. Two things differ then: leaving lets it run
    on, and network errors raise a `RemoteError`. Arguments that only work in this process raise a `ConfigurationError`.
    """

    __slots__ = ("_caller",)

    def __init__(
        self,
        agent: Agent | None = None,
        workspace: Path | str | Workspace | WorkspaceSpec | RemoteWorkspace = ".",
        *,
        id: str | None = None,
        tools: Sequence[AnyTool] = (),
        runtime: Runtime | None = None,
        store: Path | str | Storage | None = None,
        client: ModelClient | None = None,
        secrets: Mapping[str, AnySecret] = {},
        owner: str | None = None,
        title: str = "",
        tags: Mapping[str, str] = {},
        on_event: EventCallback | None = None,
        **unknown: Never,
    ) -> None:
        if unknown:
            from ..specs.arguments import check_names  # only then

            check_names("Conversation", Conversation, unknown)
        if agent is None and id is None:
            raise ConfigurationError("give an agent to begin a conversation, or the id of one to reopen")
        naming = Naming.checked(title, tags, new=agent is not None)
        self._end: End = end_of(agent, workspace, id, tools, runtime, store, client, secrets, owner, naming)
        self._caller: EventCaller | None = None
        if on_event is not None:
            from .callbacks import EventCaller  # needed by few

            self._caller = EventCaller(on_event, new=agent is not None)

    async def __aenter__(self) -> Conversation:
        if self._caller is None:
            await self._end.enter()
            return self
        await self._caller.open()
        try:
            await self._end.enter()
        except BaseException as error:
            await self._caller.end(type(error), error, error.__traceback__)
            raise
        self._caller.follow(self._end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._end.close()
        finally:
            if self._caller is not None:
                await self._caller.end(kind, error, trace)

    def __repr__(self) -> str:
        try:
            state = self._end.state
        except ConfigurationError:
            return f"<Conversation {self._end.id or ''} not entered>".replace("  ", " ")
        return f"<Conversation {self._end.id} {state.status}, {state.seq} events>"

    @property
    def id(self) -> str:
        """The id under which it can be reopened; available once it was entered, or when it was given."""
        if (name := self._end.id) is None:
            raise ConfigurationError("a conversation has its id once it was entered: use 'async with'")
        return name

    @property
    def answer(self) -> str | None:
        """The agent's final message, or the message of its `finish` call. None until there is one, and again while the
        agent works on a newer message.
        """
        return self._end.state.answer

    @property
    def cursor(self) -> Cursor:
        """The cursor after the last event."""
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def pending_confirmation(self) -> tuple[Pending, ...]:
        """The actions that wait for confirmation, including those of conversations that it delegated to."""
        return waiting(self.state)

    @property
    def pending_results(self) -> tuple[Pending, ...]:
        """The calls of client tools that have no result yet: see `give_result`."""
        return awaiting(self.state)

    @property
    def pending_inputs(self) -> tuple[InputRequested, ...]:
        """The open questions of tools to the user: see `give_input`."""
        return self.state.branch.inputs

    @property
    def workspace(self) -> WorkspaceHandle:
        """The workspace: run commands in it, list, read, write and copy its files, and see their changes in git."""
        return WorkspaceHandle(self._end)

    def workspace_for(self, principal: str | None) -> WorkspaceHandle:
        """Return the workspace for commands on behalf of a principal, whose name the log has."""
        return WorkspaceHandle(self._end, principal)

    @property
    def servers(self) -> ConversationServers:
        """The MCP servers of the conversation: their status and logins."""
        return ConversationServers(self._end)

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The names of secrets whose values were not kept when it was closed: give them again with `update_secrets`.

        Not known for a conversation on a server: only the server knows them.
        """
        return self._end.missing_secrets

    async def send_message(
        self, message: str | Iterable[Content], *, id: str | None = None, busy: BusyPolicy | str | None = None
    ) -> Cursor:
        """Send a message to the agent; a second message with the same `id` is ignored.

        `busy` (default: `Agent.busy`) decides about a message that comes while the agent works: it is seen before the
        next model call ("enqueue") or at once ("steer", "interrupt"), or is refused with `ConversationBusy` ("reject").
        """
        if not isinstance(message, Iterable):
            raise ConfigurationError(f"a message is a str or a list of content, not {type(message).__name__}")
        content = message if isinstance(message, str) else tuple(message)
        return await self._do(SendMessage(content, id, cast("BusyPolicy | None", busy)))

    def run(self, after: Cursor | int | None = None) -> Run:
        """Let the agent work. Iterate over the result for the events, or await it for the state at the end.

        The events are those after a cursor, or those from now on. The run begins with the first iteration and ends when
        there is nothing left to do. Leaving the iteration, or iterating slowly, does not affect the run. Raises
        `UnknownModel` or `MissingKey` before anything is logged, and `LogFailed` when the log fails.
        """
        return Run(self._end, after)

    @overload
    async def prompt(self, message: str | Iterable[Content]) -> str: ...

    @overload
    async def prompt(self, message: str | Iterable[Content], *, output: type[T]) -> T: ...

    async def prompt(self, message: str | Iterable[Content], *, output: Any = str, **unknown: Any) -> Any:
        """Send a message, let the agent work on it, and return its answer: its words, or a value of the type `output`,
        such as a struct, a dataclass, a pydantic model or `list[int]`. An answer that does not fit is asked for again,
        twice.

        Raises `NoAnswer` if the run ends without an answer: with an error, a pause or a limit, because it waits for a
        person, or because no answer fits. Raises `ConfigurationError` for a type that has no JSON schema.
        """
        if unknown:
            from ..specs.arguments import check_names  # only then

            check_names("prompt", Conversation.prompt, unknown)
        if output is str:
            await self.send_message(message)
            return answer_of(await self.run())
        from .typed import prompt_for  # needed by few

        return await prompt_for(self, message, output)

    async def stream_text(self, message: str | Iterable[Content]) -> AsyncIterator[str]:
        """Send a message, let the agent work on it, and yield its words as it writes them: see `Run.text`."""
        await self.send_message(message)
        async for piece in self.run().text():
            yield piece

    async def start_run(self) -> Cursor:
        """Let the agent work, without waiting for it. Raises the same errors as `run`."""
        return await self._do(StartRun())

    async def pause(self) -> Cursor:
        """Pause: begin nothing new. Running work may end. Takes effect before this returns."""
        return await self._do(Pause())

    async def interrupt(self, reason: str = "") -> Cursor:
        """Interrupt running work. The request is durable when this returns; the results of the interrupted work follow
        in the log soon after.
        """
        return await self._do(Interrupt(reason))

    async def confirm(
        self, *action_ids: str, always: Scope | None = None, rule: PermissionRule | None = None
    ) -> Cursor:
        """Approve waiting actions; without ids, all of them.

        `always` also allows the same action from now on, without asking: in this conversation ("session"), or in all
        conversations in its workspace ("project"). `rule` says which actions count as the same; by default the same
        command, edits of the same file, or any call of the same tool.
        """
        return await self._do(Confirm(action_ids, always, rule))

    async def reject(self, reason: str = "Rejected by the user.", *action_ids: str) -> Cursor:
        """Reject waiting actions; without ids, all of them. The agent sees the reason."""
        return await self._do(Reject(reason, action_ids))

    async def give_result(self, action_id: str, content: str | Sequence[Content], is_error: bool = False) -> Cursor:
        """Give the result of a call of a `ClientTool`, one of `pending_results`.

        Raises `ConfigurationError` if the call does not wait for a result, also if the result comes too late.
        """
        given = content if isinstance(content, str) else tuple(content)
        return await self._do(GiveResult(action_id=action_id, content=given, is_error=is_error))

    async def give_input(
        self, request_id: str, content: Mapping[str, Any] | None = None, verdict: InputVerdict = "accept"
    ) -> Cursor:
        """Answer a question of a tool, one of `pending_inputs`: with the object that its form asks for, or with
        "decline".

        Raises `ConfigurationError` if no such question is open.
        """
        return await self._do(GiveInput(request_id=request_id, verdict=verdict, content=dict(content or {})))

    async def set_goal(self, objective: str, *, judge: AnyLLM | str | None = None, max_iterations: int = 10) -> Cursor:
        """Set a goal: a judge checks the agent's finished work against the objective and sends it back with what is
        missing, until the goal is reached or was judged `max_iterations` times. "" removes the goal. See
        `state.ledger.goal`.
        """
        return await self._do(SetGoal(objective, as_llm(judge), max_iterations))

    async def run_goal(self, objective: str, *, judge: AnyLLM | str | None = None, max_iterations: int = 10) -> State:
        """Let the agent work on an objective as with `set_goal`, and return the state at the end: when the goal is
        reached, was judged `max_iterations` times, or the run ends otherwise. The outcome is `state.goal_status`.
        """
        await self.send_message(objective)  # which may be refused
        await self.set_goal(objective, judge=judge, max_iterations=max_iterations)
        return await self.run()

    async def ask_agent(self, question: str, *, llm: AnyLLM | str | None = None) -> str:
        """Ask a side question, also while the agent works. The answer is based on what the agent sees now; the history
        records only its cost. Raises `ModelError`.
        """
        return await self._ask(AskAgent(question, as_llm(llm)))

    async def generate_title(self, *, llm: AnyLLM | str | None = None, max_length: int = 50) -> str:
        """Generate a title from the first message with a model. If that fails, the title is the message, truncated."""
        return await self._ask(GenerateTitle(as_llm(llm), max_length))

    async def condense(self) -> Cursor:
        """Replace the older part of the view with a summary before the next model call."""
        return await self._do(Condense())

    async def rewind(self, to: Cursor | int, *, files: bool = False) -> Cursor:
        """Go back to the state after event `to`; nothing is erased. With `files`, also restore the workspace, except
        for files that people have changed since: `FilesRestored` in the log names them, and the agent is told about
        them.

        Raises `EventRefused` during a run, `CursorExpired`, and `WorkspaceError` if the files were not kept.
        """
        place = to if isinstance(to, Cursor) else Cursor(0, to)
        return await self._do(Rewind(to=place.seq, epoch=place.epoch, files=files))

    async def rest(self, idle: float = 0.0) -> bool:
        """Unload the conversation from memory now, unless something runs or it was used in the last `idle` seconds.
        Return whether it was unloaded.

        The runtime and the server do this on their own. The next message loads it again.
        """
        return await self._end.rest(idle)

    async def fork(
        self,
        at: Cursor | int | None = None,
        *,
        id: str | None = None,
        title: str = "",
        tags: Mapping[str, str] = {},
        agent: Agent | None = None,
        files: bool | str | Path = False,
    ) -> Conversation:
        """Return a new conversation, not yet entered, that shares the events up to `at` (default: all) and continues on
        its own, in the same workspace and runtime, with the same secrets. Actions that are open at `at` are cancelled
        in the fork.

        The fork keeps the title unless `title` is given, and has its own `tags`. With `agent`, that agent continues the
        fork: its model, tools and instructions apply from there on. With `files` the fork works in a copy of the
        workspace as it was at `at`: in that directory, or in a new one beside the workspace.

        Raises `CursorExpired`, `ConversationExists`, `EventRefused` if the conversation has not begun at `at`, and with
        `files` `WorkspaceError` if the files were not kept.
        """
        files = files if isinstance(files, bool) else os.fspath(files)
        naming = Naming.checked(title, tags)
        agent = None if agent is None else instance(agent, Agent, "fork", "agent")
        name = converted(id, str | None, "fork", "id")
        place = None if at is None else self._seq(converted(at, Cursor | int, "fork", "at"))
        wanted = Fork(place, name, naming.title, naming.tags, agent, self.state.epoch, files)
        fork = Conversation.__new__(Conversation)
        fork._end, fork._caller = await self._end.fork(wanted), None
        return fork
