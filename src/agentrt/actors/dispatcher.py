"""`Dispatcher`: gives due commands to their performers, and makes sure that each command that has begun ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

import anyio
import msgspec

from ..decisions import (
    Activate,
    AssessRisk,
    Attend,
    CallModel,
    Condense,
    Delegate,
    ExecuteAction,
    Judge,
    RunHooks,
    Task,
    failed,
    lost,
)
from ..errors import ActorCrashed, ActorError, ActorStopped, AgentrtError, EventRefused, LogError
from ..events import ConversationErrorEvent, Event, RiskAssessed
from ..specs import SecurityRisk
from .core import Actor, Envelope, Ref, Request, Supervisor
from .event_log import Log

CLOSING_SECONDS = 5.0
"""Maximum number of seconds to append the outcome of a command that its performer left open."""


BACKGROUND = "background"
"""The name of the performer of background commands. A message that cuts what runs does not cut these."""

TOOL = "tool:"
"""The prefix of the name of a tool's performer."""


class Perform(Request[None], frozen=True):
    """Perform a command, and append its outcome."""

    command: Task


class Performer(msgspec.Struct, frozen=True):
    """How the actor for one kind of command is made, and how many commands it performs side by side."""

    factory: Callable[[], Actor]
    concurrency: int = 1


def performer_name(command: Task) -> str:
    """Return the name of the actor that performs a command: "agent", "security", "hooks", "tool:NAME", ..."""
    match command:
        case CallModel():
            return "agent"
        case AssessRisk():
            return "security"
        case Condense():
            return "condenser"
        case RunHooks():
            return "hooks"
        case Judge():
            return "critic"
        case Delegate():
            return "delegate"
        case Attend():
            return BACKGROUND
        case Activate():
            return "skills"
        case ExecuteAction(_, action):
            return f"{TOOL}{action.tool_name}"
        case _:
            assert_never(command)


def _failed(problem: AgentrtError | None) -> bool:
    """Return whether a performer failed to give an outcome. Of the log's errors only `EventRefused` counts: the log
    does not accept what the outcome says, late or not.
    """
    return problem is not None and (isinstance(problem, EventRefused) or not isinstance(problem, LogError))


class Dispatcher:
    """Posts due commands to their performers, cancels those that are cut, and ends those that a performer left open.

    A performer that crashes gets its command again once its supervisor has restarted it. Calls of tools and delegations
    are not repeated: what they did before is unknown, so the model is told. If a performer stays down, the command ends
    with an error event.
    """

    def __init__(self, supervisor: Supervisor, performer: Callable[[str], Performer]) -> None:
        self._supervisor, self._performer = supervisor, performer
        self._refs: dict[str, Ref] = {}
        self._running: dict[str, Envelope | None] = {}
        self._background = set[str]()
        """The ids of those that work in the background."""
        self._next: dict[str, Task] = {}
        """The commands that became due again while they were still being cut."""
        self._cut: set[str] = set()
        """The ids of commands that were cut and have not ended; that they did not finish is not a failure."""
        self._unfinished: asyncio.Queue[tuple[Task, BaseException | None]] = asyncio.Queue()
        self._log: Log | None = None
        self._is_over = False
        """Whether nobody ends commands any more: everything was cancelled at once."""
        self._idle = anyio.Event()
        self._idle.set()

    def attach(self, log: Log) -> None:
        """Set the log whose commands it dispatches."""
        self._log = log

    def hand_out(self, commands: Sequence[Task]) -> None:
        """Begin each command."""
        for command in commands:
            if command.id in self._background and command.id not in self._cut:
                continue  # it was not cut, so it still runs
            if command.id in self._running:
                self._next[command.id] = command
            else:
                self._post(command)

    def cut(self, *, goes_on: bool = False) -> None:
        """Cancel everything that runs, but not background work if the run `goes_on`."""
        self._next.clear()
        for name, envelope in list(self._running.items()):
            if goes_on and name in self._background:
                continue
            self._cut.add(name)
            if envelope is not None:
                envelope.cancel()

    def forget(self, name: str) -> None:
        """Forget a performer that was stopped for good; the next command gets a new one."""
        self._refs.pop(name, None)

    async def ask_tools(self, request: Request[bool]) -> list[bool]:
        """Return the replies of the tools that were used since the conversation was opened. Raise `ActorError`."""
        return [await ref.ask(request) for name, ref in list(self._refs.items()) if name.startswith(TOOL)]

    async def wait_idle(self) -> None:
        """Return when nothing runs, or `run` has ended."""
        if self._running and not self._is_over:
            if self._idle.is_set():
                self._idle = anyio.Event()
            await self._idle.wait()

    def _post(self, command: Task, crash: ActorCrashed | None = None) -> None:
        """Post a command, after a `crash` for when its performer has restarted. It ends at once if the performer has
        stopped for good, as all do when the conversation is cancelled.
        """
        name = performer_name(command)
        if name not in self._refs:
            performer = self._performer(name)
            self._refs[name] = self._supervisor.spawn(name, performer.factory, concurrency=performer.concurrency)
        if name == BACKGROUND:
            self._background.add(command.id)
        then = partial(self._done, command, name)
        try:
            self._running[command.id] = self._refs[name].post(Perform(command), then)
        except ActorStopped as stopped:
            self._running[command.id] = None
            self._unfinished.put_nowait((command, crash or stopped))

    def _done(self, command: Task, performer: str, _: None, problem: AgentrtError | None) -> None:
        log = self._log
        assert log is not None
        crash = problem if isinstance(problem, ActorCrashed) and problem.actor == performer else None
        if crash is not None and not isinstance(command, ExecuteAction | Delegate):
            self._post(command, crash)
        elif command.id in log.state.in_flight or _failed(problem):
            self._running[command.id] = None
            self._unfinished.put_nowait((command, problem))
        else:
            self._ended(command)

    def _ended(self, command: Task) -> None:
        del self._running[command.id]
        self._background.discard(command.id)
        self._cut.discard(command.id)
        if (again := self._next.pop(command.id, None)) is not None:
            self._post(again)
        if not self._running:
            self._idle.set()

    async def run(self) -> None:
        """End the commands that their performers left open, one after the other. For a task of its own.

        When it is cancelled, nobody ends them any more, so nothing waits for that.
        """
        try:
            while True:
                await self._end(*await self._unfinished.get())
        finally:
            self._is_over = True
            self._idle.set()

    async def _end(self, command: Task, problem: BaseException | None) -> None:
        """Append the outcome that the performer did not append, so that the command does not stay open."""
        assert self._log is not None
        is_cut = command.id in self._cut
        cut = problem is None or self._log.state.branch.cut
        why = "Interrupted: it did not finish." if cut else f"It failed: {problem}"
        events: tuple[Event, ...] = lost(self._log.state, command.id, why)
        if events and isinstance(command, Delegate) and isinstance(problem, ActorStopped):  # nobody has begun it
            events = failed(self._log.state, command, None, "", why)
        if isinstance(command, Attend) and command.child_id in self._log.state.background and not is_cut:
            events = failed(self._log.state, command, None, "", why)
        if not self._log.state.branch.cut and not is_cut:
            match command:
                case AssessRisk(_, action):
                    reason = f"the rating failed: {problem}"
                    events = (RiskAssessed(action_id=action.id, risk=SecurityRisk.HIGH, reason=reason),)
                case CallModel() | Condense() | RunHooks() | Judge() | Activate(action=None):
                    events = (*events, ConversationErrorEvent(code="internal", detail=why))
                case _:
                    pass
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
                if events:
                    await self._log.append(*events, command=command.id)
        except (LogError, ActorError):
            pass
        finally:
            self._ended(command)
