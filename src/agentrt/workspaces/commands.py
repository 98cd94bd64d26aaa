"""`Commands`: the commands that people and programs run in a place, beside an agent's tools."""

from __future__ import annotations

import codecs
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import Literal, TypeAlias

import anyio
import anyio.abc
import msgspec

from ..errors import ToolError, WorkspaceError
from ..events.base import now
from ..ids import new_id
from ..placing import DEVNULL, PIPE, Masked, Place, StartSoon
from ..sandboxes.environment import environment

MOST_RUNNING = 32
"""Maximum number of commands that run at once."""

REMEMBERED = 100
"""Number of commands that have ended and can still be asked about."""

KEPT = 4 << 20
"""Characters of a command's output that are kept: the last ones."""

LONGEST = 100_000
"""Maximum number of characters of a command."""

SECONDS = 30.0
"""Default time limit."""

TIMED_OUT = -1
"""The exit code of a command that reached its time limit."""

_GRACE = 0.5
"""Seconds to wait for the rest of the output of a command that has ended, since what it left running may hold it."""

_PIECE = 65_536

Name: TypeAlias = Literal["stdout", "stderr"]


class RunCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A shell command of a person or a program. `cwd` is absolute, or relative to the workspace; "" is the workspace.

    It is ended with all that it started after `timeout` seconds. Raises `WorkspaceError` for one that cannot be run.
    """

    command: str
    cwd: str = ""
    timeout: float = SECONDS

    def __post_init__(self) -> None:
        if not self.command.strip() or "\0" in self.command or len(self.command) > LONGEST:
            raise WorkspaceError("command", f"give a command of at most {LONGEST:,} characters, without NUL")
        if "\0" in self.cwd:
            raise WorkspaceError("path", "a directory has no NUL in its name")
        if not 0 < self.timeout <= 86_400:
            raise WorkspaceError("command", "its timeout is above 0 and at most 86400 seconds")


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. `exit_code` is -1 if its time limit ended it, and 128 + N if signal N did.

    Of a longer output, `stdout` and `stderr` have the end, after a line that says so. `duration` is in seconds.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    timeout_occurred: bool = False
    duration: float = 0.0

    @property
    def timeout(self) -> bool:
        """The same as `timeout_occurred`."""
        return self.timeout_occurred


class OutputPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a command's output. `order` counts the pieces of a command from 1."""

    order: int
    name: Name
    text: str


class CommandState(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was run: it still runs while `result` is null. `stopped`: somebody ended it."""

    id: str
    command: str
    cwd: str
    timestamp: datetime
    by: str | None = None
    result: CommandResult | None = None
    stopped: bool = False


class Command:
    """A command that was begun."""

    def __init__(self, wanted: RunCommand, cwd: str, by: str | None) -> None:
        self.id, self.by, self.begun = new_id(), by, now()
        self.wanted, self.cwd = wanted, cwd
        self.stopped = False
        self.result: CommandResult | None = None
        self.pieces = deque[OutputPiece]()
        self._order, self._size, self._dropped = 0, 0, {"stdout": 0, "stderr": 0}
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()

    @property
    def state(self) -> CommandState:
        """Its state now."""
        return CommandState(
            id=self.id,
            command=self.wanted.command,
            cwd=self.cwd,
            timestamp=self.begun,
            by=self.by,
            result=self.result,
            stopped=self.stopped,
        )

    def stop(self) -> None:
        """End it with all that it started; nothing happens if it has ended."""
        if self.result is None:
            self.stopped = True
            self._scope.cancel()

    async def wait(self) -> CommandResult:
        """Return its result once it has ended."""
        while self.result is None:
            await self._changed.wait()
        return self.result

    async def follow(self, after: int = 0) -> AsyncIterator[OutputPiece]:
        """Yield the pieces of its output after one, as they come, until it has ended; those that were dropped meanwhile
        are left out.
        """
        while True:
            changed, ended = self._changed, self.result is not None
            for piece in [piece for piece in self.pieces if piece.order > after]:
                after = piece.order
                yield piece
            if ended:
                return
            await changed.wait()

    async def run(self, place: Place, masked: Masked) -> None:
        """Run it to its end. Cancelling ends it, and it has a result even then."""
        begun = time.monotonic()
        code, timed_out = TIMED_OUT, False
        try:
            with self._scope:
                with anyio.move_on_after(self.wanted.timeout) as limit:
                    code = await self._run(place, masked)
                timed_out = limit.cancelled_caught
        except (OSError, ValueError, ToolError) as error:
            self._add("stderr", f"it cannot be run: {getattr(error, 'strerror', None) or error}\n")
            code = 127
        finally:
            self.result = CommandResult(
                command=self.wanted.command,
                exit_code=code if not self._scope.cancelled_caught else 128 + 15,
                stdout=self._said("stdout"),
                stderr=self._said("stderr"),
                timeout_occurred=timed_out,
                duration=round(time.monotonic() - begun, 3),
            )
            self._tell()

    async def _run(self, place: Place, masked: Masked) -> int:
        with anyio.CancelScope(shield=True) as scope:
            process = await place.run(
                ["bash", "-c", self.wanted.command],
                cwd=self.cwd,
                env=environment(place.variables, masked),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
            )
            try:
                scope.shield = False  # not earlier, or it may run without anybody having its handle
                async with anyio.create_task_group() as readers:
                    readers.start_soon(self._read, "stdout", process.stdout, masked)
                    readers.start_soon(self._read, "stderr", process.stderr, masked)
                    code = await process.wait()
                    readers.cancel_scope.deadline = anyio.current_time() + _GRACE
            finally:
                scope.shield = True
                if process.returncode is None:
                    await process.end()
                process.close_pipes()
        return code if code >= 0 else 128 - code

    async def _read(self, name: Name, stream: anyio.abc.ByteReceiveStream | None, masked: Masked) -> None:
        assert stream is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while data := await stream.receive(_PIECE):
                self._add(name, masked(decoder.decode(data)))
        self._add(name, decoder.decode(b"", True))

    def _add(self, name: Name, text: str) -> None:
        if not text:
            return
        self._order += 1
        self.pieces.append(OutputPiece(order=self._order, name=name, text=text))
        self._size += len(text)
        while self._size > KEPT and len(self.pieces) > 1:
            dropped = self.pieces.popleft()
            self._size -= len(dropped.text)
            self._dropped[dropped.name] += len(dropped.text)
        self._tell()

    def _said(self, name: Name) -> str:
        kept = "".join(piece.text for piece in self.pieces if piece.name == name)
        dropped = self._dropped[name]
        return f"[{dropped:,} characters before this are left out]\n{kept}" if dropped else kept

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


Told = Callable[[Command], Awaitable[None]]
"""Is told of a command: before it begins, or once it has ended."""


async def untold(command: Command) -> None:
    """Tell nobody."""


class Commands:
    """The commands in a place. Each is a task of its own; the last ones that have ended are remembered."""

    def __init__(
        self, place: Place, start_soon: StartSoon, masked: Masked = str, begins: Told = untold, ended: Told = untold
    ) -> None:
        """`begins` is told of a command before it begins; if that raises, it does not."""
        self._place, self._start_soon, self._masked = place, start_soon, masked
        self._begins, self._ended = begins, ended
        self._known: dict[str, Command] = {}
        self._closed = False

    async def start(self, wanted: RunCommand, by: str | None = None) -> Command:
        """Begin a command. Raises `WorkspaceError` if too many run, and what `begins` raises."""
        if self._closed or self.running >= MOST_RUNNING:
            raise WorkspaceError("busy", f"{MOST_RUNNING} commands run already: stop one, or wait for its end")
        root = self._place.workspace.path
        cwd = wanted.cwd if wanted.cwd.startswith("/") else f"{root}/{wanted.cwd}".rstrip("/")
        command = Command(wanted, cwd or "/", by)
        self._known[command.id] = command
        try:
            await self._begins(command)
        except BaseException:
            del self._known[command.id]
            raise

        async def run() -> None:
            try:
                await command.run(self._place, self._masked)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._ended(command)

        self._start_soon(run)
        ended = [one.id for one in self._known.values() if one.result is not None]
        for name in ended[: max(0, len(ended) - REMEMBERED)]:
            del self._known[name]
        return command

    @property
    def running(self) -> int:
        """Number of commands that run."""
        return sum(command.result is None for command in self._known.values())

    def list(self) -> tuple[CommandState, ...]:
        """Return the commands that run, and the last ones that have ended; the newest comes last."""
        return tuple(command.state for command in self._known.values())

    def named(self, name: str) -> Command:
        """Return a command by its id. Raises `WorkspaceError`."""
        if (command := self._known.get(name)) is None:
            raise WorkspaceError("command-missing", f"{name!r} is not among the last {REMEMBERED}")
        return command

    async def close(self) -> None:
        """End all that runs, and begin nothing more."""
        self._closed = True
        for command in list(self._known.values()):
            command.stop()
            await command.wait()
