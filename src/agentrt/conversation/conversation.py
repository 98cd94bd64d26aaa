"""`Conversation`: a person's end of an agent at work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

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
    DockerWorkspace,
    PermissionRule,
    RemoteWorkspace,
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
from .workspace import WorkspaceFiles

T = TypeVar("T")


class Conversation(Steering):
    """A conversation with an agent; an async context manager.

    `Conversation(agent, workspace)` begins a new one, `Conversation(id=...)` reopens one from its log alone.
    Without a `runtime` it has its own, with the conversations in `store` (default: `~/.agentrt`). `tools` are functions
    and other implementations that the built-in ones do not cover, and `secrets` what its commands may name as
    variables: their values are in no event, prompt or log. A new one begins with `title` and `tags`. Nobody is asked
    before an action unless `Agent.confirmation` says so. Entering it raises a `ConfigurationError` or `LogError` that
    says what to do; leaving it interrupts what runs, unless others have it open in the same runtime, and keeps
    everything in the log.

    With a `RemoteWorkspace` it runs on a server, also when an old one is reopened: all else is the same, but that
    leaving it lets it run on, and that errors of the network come in addition, which are a `RemoteError`. What is only
    in this process is refused there with a `ConfigurationError`.
    """

    __slots__ = ()

    def __init__(
        self,
        agent: Agent | None = None,
        workspace: Path | str | DockerWorkspace | RemoteWorkspace = ".",
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
    ) -> None:
        if agent is None and id is None:
            raise ConfigurationError("give an agent to begin a conversation, or the id of one to reopen")
        naming = Naming.checked(title, tags, new=agent is not None)
        self._end: End = end_of(agent, workspace, id, tools, runtime, store, client, secrets, owner, naming)

    async def __aenter__(self) -> Conversation:
        await self._end.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end.close()

    @property
    def id(self) -> str:
        """The name under which it can be reopened; there once it was entered, or when it was given."""
        if (name := self._end.id) is None:
            raise ConfigurationError("a conversation has its id once it was entered: use 'async with'")
        return name

    @property
    def answer(self) -> str | None:
        """The agent's final words, or the message of its `finish`; None until it gives them, and while it works on what
        was said since.
        """
        return self._end.state.answer

    @property
    def cursor(self) -> Cursor:
        """The place after the last event."""
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def pending_confirmation(self) -> tuple[Pending, ...]:
        """The actions that wait for a person's word, with those of conversations that it delegated to."""
        return waiting(self.state)

    @property
    def pending_results(self) -> tuple[Pending, ...]:
        """The calls of its client's tools that have no result yet: see `give_result`."""
        return awaiting(self.state)

    @property
    def pending_inputs(self) -> tuple[InputRequested, ...]:
        """What tools have asked a person: see `give_input`."""
        return self.state.branch.inputs

    @property
    def workspace(self) -> WorkspaceFiles:
        """The files that the agent works on: to list, read, write and copy them, and what git says of them."""
        return WorkspaceFiles(self._end)

    @property
    def servers(self) -> ConversationServers:
        """Its MCP servers: how they stand, and logins at them."""
        return ConversationServers(self._end)

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The secrets whose values were not kept when it was closed: give them again with `update_secrets`.

        Of a conversation on a server only the server knows.
        """
        return self._end.missing_secrets

    async def send_message(
        self, message: str | Iterable[Content], *, id: str | None = None, busy: BusyPolicy | str | None = None
    ) -> Cursor:
        """Say something to the agent; the same `id` twice counts once.

        While it works the message is treated by `Agent.busy`, or by `busy`: seen before its next model call
        ("enqueue"), at once ("steer", "interrupt"), or refused with `ConversationBusy` ("reject").
        """
        if not isinstance(message, Iterable):
            raise ConfigurationError(f"a message is a str or a list of content, not {type(message).__name__}")
        content = message if isinstance(message, str) else tuple(message)
        return await self._do(SendMessage(content, id, cast("BusyPolicy | None", busy)))

    def run(self, after: Cursor | int | None = None) -> Run:
        """Let the agent work: iterate over the events, or await it for the state at its end.

        The events are those from now on, or those after a cursor. It begins with the first iteration and ends when
        nothing is due. Leaving the iteration, or being slow, does not affect the run. Raises `UnknownModel` or
        `MissingKey` before anything is logged, `LogFailed` when the log fails.
        """
        return Run(self._end, after)

    async def prompt(self, message: str | Iterable[Content]) -> str:
        """Send a message, let the agent work on it, and return its answer.

        Raises `NoAnswer` where the run ends without one: by an error, a pause, a limit, or since it waits for a person.
        """
        await self.send_message(message)
        return answer_of(await self.run())

    async def start_run(self) -> Cursor:
        """Let the agent work, and do not wait for it. Raises as `run` does."""
        return await self._do(StartRun())

    async def pause(self) -> Cursor:
        """Begin nothing new; what runs may end. Effective when this returns."""
        return await self._do(Pause())

    async def interrupt(self, reason: str = "") -> Cursor:
        """Cut what runs. The intent is durable when this returns; what was cut has its result in the log soon after."""
        return await self._do(Interrupt(reason))

    async def confirm(
        self, *action_ids: str, always: Scope | None = None, rule: PermissionRule | None = None
    ) -> Cursor:
        """Approve actions that wait; all of them when none is named.

        `always` also allows the same from now on, without asking: in this conversation ("session"), or in all that work
        in its workspace ("project"). What "the same" is, `rule` says; else it is that command, edits of that file, or
        any call of that tool.
        """
        return await self._do(Confirm(action_ids, always, rule))

    async def reject(self, reason: str = "Rejected by the user.", *action_ids: str) -> Cursor:
        """Refuse actions that wait, all of them when none is named; the agent sees the reason."""
        return await self._do(Reject(reason, action_ids))

    async def give_result(self, action_id: str, content: str | Sequence[Content], is_error: bool = False) -> Cursor:
        """Give the result of an action that waits for one: a call of a `ClientTool`, in `pending_results`.

        Raises `ConfigurationError` where none is waited for: also where it has come too late.
        """
        given = content if isinstance(content, str) else tuple(content)
        return await self._do(GiveResult(action_id=action_id, content=given, is_error=is_error))

    async def give_input(
        self, request_id: str, content: Mapping[str, Any] | None = None, verdict: InputVerdict = "accept"
    ) -> Cursor:
        """Answer what a tool has asked, in `pending_inputs`: with the object that its form asks for, or with "decline".

        Raises `ConfigurationError` where nobody waits for it.
        """
        return await self._do(GiveInput(request_id=request_id, verdict=verdict, content=dict(content or {})))

    async def set_goal(self, objective: str, *, judge: AnyLLM | str | None = None, max_iterations: int = 10) -> Cursor:
        """Hold what the agent finishes against an objective: a judge sends it back with what is missing, until it is
        reached or was judged `max_iterations` times. "" takes the goal back. See `state.ledger.goal`.
        """
        return await self._do(SetGoal(objective, as_llm(judge), max_iterations))

    async def run_goal(self, objective: str, *, judge: AnyLLM | str | None = None, max_iterations: int = 10) -> State:
        """Have the agent work on an objective, as `set_goal` holds it, until it is reached, was judged `max_iterations`
        times, or something else ends the run; the state then. What came of it is `state.goal_status`.
        """
        await self.send_message(objective)  # which may be refused
        await self.set_goal(objective, judge=judge, max_iterations=max_iterations)
        return await self.run()

    async def ask_agent(self, question: str, *, llm: AnyLLM | str | None = None) -> str:
        """Ask something besides the task, also while it works: the answer comes from what the agent sees now, and
        leaves no trace in the history but its cost. Raises `ModelError`.
        """
        return await self._ask(AskAgent(question, as_llm(llm)))

    async def generate_title(self, *, llm: AnyLLM | str | None = None, max_length: int = 50) -> str:
        """Have a model make a title of the first message; where that fails it is the message, cut short."""
        return await self._ask(GenerateTitle(as_llm(llm), max_length))

    async def condense(self) -> Cursor:
        """Have a summary take the place of what was said long ago, before the next model call."""
        return await self._do(Condense())

    async def rewind(self, to: Cursor | int, *, files: bool = False) -> Cursor:
        """Go back to how it was after event `to`; nothing is erased. With `files`, those of the workspace, too, but for
        those that people have changed since: `FilesRestored` in the log names them, and the agent is told.

        Raises `EventRefused` while it runs, `CursorExpired`, and `WorkspaceError` where files were not kept.
        """
        place = to if isinstance(to, Cursor) else Cursor(0, to)
        return await self._do(Rewind(to=place.seq, epoch=place.epoch, files=files))

    async def rest(self, idle: float = 0.0) -> bool:
        """Let it leave memory now, unless something runs or it was used in the last `idle` seconds; whether it did.

        The runtime does so by itself, as does a server. It comes back with the next message.
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
        """A new conversation, not yet entered, that shares the events up to `at` (all, when not given) and goes on by
        itself, in the same workspace and runtime, with the same secrets. What is open there is cancelled in it.

        It has the same title unless there is another, `tags` of its own, and goes on with another `agent` where one is
        given: its model, tools and instructions hold from there on. With `files` it works in a copy of the workspace as
        it was at `at`: in that directory, or in a new one beside the workspace.

        Raises `CursorExpired`, `ConversationExists`, `EventRefused` where the conversation has not begun, and with
        `files` `WorkspaceError` where they were not kept.
        """
        files = files if isinstance(files, bool) else os.fspath(files)
        naming = Naming.checked(title, tags)
        agent = None if agent is None else instance(agent, Agent, "fork", "agent")
        name = converted(id, str | None, "fork", "id")
        place = None if at is None else self._seq(converted(at, Cursor | int, "fork", "at"))
        wanted = Fork(place, name, naming.title, naming.tags, agent, self.state.epoch, files)
        fork = Conversation.__new__(Conversation)
        fork._end = await self._end.fork(wanted)
        return fork
