"""`Dispatcher`: brings due commands to their performers, and sees to it that each begun one ends."""

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
"""How long the outcome of a cut command may take to be appended."""


BACKGROUND = "background"
"""The performer of what works in the background: a message that cuts what runs does not cut that."""

TOOL = "tool:"
"""How the name of a tool's performer begins."""


class Perform(Request[None], frozen=True):
    """Do this, and append its outcome."""

    command: Task


class Performer(msgspec.Struct, frozen=True):
    """How an actor for some commands is made."""

    factory: Callable[[], Actor]
    concurrency: int = 1


def performer_name(command: Task) -> str:
    """The name of the actor that performs a command: "agent", "security", "hooks", "tool:NAME", ..."""
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
    """Whether a performer has no outcome; what the log does not take for what it says is none, late or not."""
    return problem is not None and (isinstance(problem, EventRefused) or not isinstance(problem, LogError))


class Dispatcher:
    """Posts due commands to their performers, cancels what is cut, and ends what a performer left open.

    A performer that crashes is given its command again once its supervisor has restarted it, but never a tool: what a
    tool did before is unknown, so the model is told. When a performer stays down, the command ends with an error event.
    """

    def __init__(self, supervisor: Supervisor, performer: Callable[[str], Performer]) -> None:
        self._supervisor, self._performer = supervisor, performer
        self._refs: dict[str, Ref] = {}
        self._running: dict[str, Envelope | None] = {}
        self._background = set[str]()
        """Which of these work in the background."""
        self._next: dict[str, Task] = {}
        """What became due again while it was still being cut."""
        self._cut: set[str] = set()
        """What was cut, until it has ended: that it did not finish is no failure."""
        self._unfinished: asyncio.Queue[tuple[Task, BaseException | None]] = asyncio.Queue()
        self._log: Log | None = None
        self._idle = anyio.Event()
        self._idle.set()

    def attach(self, log: Log) -> None:
        """Give it the log whose commands it sees through."""
        self._log = log

    def hand_out(self, commands: Sequence[Task]) -> None:
        """Begin each command."""
        for command in commands:
            if command.id in self._background and command.id not in self._cut:
                continue  # it was not cut
            if command.id in self._running:
                self._next[command.id] = command
            else:
                self._post(command)

    def cut(self, *, goes_on: bool = False) -> None:
        """Cancel all that runs; where it `goes_on`, not what works in the background."""
        self._next.clear()
        for name, envelope in list(self._running.items()):
            if goes_on and name in self._background:
                continue
            self._cut.add(name)
            if envelope is not None:
                envelope.cancel()

    def forget(self, name: str) -> None:
        """A performer was stopped for good; the next command gets a new one."""
        self._refs.pop(name, None)

    async def ask_tools(self, request: Request[bool]) -> list[bool]:
        """The replies of the tools that were used since the conversation was opened. Raises `ActorError`."""
        return [await ref.ask(request) for name, ref in list(self._refs.items()) if name.startswith(TOOL)]

    async def wait_idle(self) -> None:
        """Return when nothing runs."""
        if self._running:
            if self._idle.is_set():
                self._idle = anyio.Event()
            await self._idle.wait()

    def _post(self, command: Task) -> None:
        name = performer_name(command)
        if name not in self._refs:
            performer = self._performer(name)
            self._refs[name] = self._supervisor.spawn(name, performer.factory, concurrency=performer.concurrency)
        if name == BACKGROUND:
            self._background.add(command.id)
        then = partial(self._done, command, name)
        self._running[command.id] = self._refs[name].post(Perform(command), then)

    def _done(self, command: Task, performer: str, _: None, problem: AgentrtError | None) -> None:
        log = self._log
        assert log is not None
        crash = problem if isinstance(problem, ActorCrashed) and problem.actor == performer else None
        if crash is not None and not isinstance(command, ExecuteAction | Delegate):
            self._again(command, crash)
        elif command.id in log.state.in_flight or _failed(problem):
            self._running[command.id] = None
            self._unfinished.put_nowait((command, problem))
        else:
            self._ended(command)

    def _again(self, command: Task, crash: ActorCrashed) -> None:
        """Post a command again, for when its performer has restarted; the mailbox says whether it will."""
        try:
            self._post(command)
        except ActorStopped:
            self._running[command.id] = None
            self._unfinished.put_nowait((command, crash))

    def _ended(self, command: Task) -> None:
        del self._running[command.id]
        self._background.discard(command.id)
        self._cut.discard(command.id)
        if (again := self._next.pop(command.id, None)) is not None:
            self._post(again)
        if not self._running:
            self._idle.set()

    async def run(self) -> None:
        """End, one after the other, the commands that their performers left open; for a task of its own."""
        while True:
            await self._end(*await self._unfinished.get())

    async def _end(self, command: Task, problem: BaseException | None) -> None:
        """Append the outcome that the performer did not: whatever happened, what was begun does not stay open."""
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
