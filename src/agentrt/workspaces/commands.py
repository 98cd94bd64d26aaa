"""`Commands`: the commands that people and programs run in a place, beside an agent's tools."""

from __future__ import annotations

import codecs
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from math import inf

import anyio
from anyio.abc import ByteReceiveStream

from ..errors import WorkspaceError
from ..events.base import now
from ..ids import new_id
from ..placing import DEVNULL, PIPE, Place, StartSoon
from ..sandboxes.environment import environment
from ..secrets import CurrentMask, Mask
from ..specs.content import tail
from .asking import CommandOutput, CommandResult, CommandState, Name, OutputPiece, RunCommand

MOST_RUNNING = 32
"""Maximum number of commands that run at once."""

REMEMBERED = 100
"""Number of commands that have ended and can still be asked about."""

KEPT = 1 << 20
"""Characters that are kept of each output of a command: the last ones."""

REMEMBERED_SIZE = 8 << 20
"""Characters of output that the commands that have ended may have together; the oldest ones are forgotten."""

PIECES = 4096
"""Number of pieces of its output that can still be followed, of at most `KEPT` characters together."""

TIMED_OUT = -1
"""The exit code of a command that reached its time limit."""

_GRACE = 0.5
"""Seconds to wait for the rest of the output of a command that has ended, since what it left running may hold it."""

_PIECE = 65_536


class _Tail:
    """The end of a text that comes in pieces."""

    def __init__(self) -> None:
        self._parts, self._size, self._dropped = list[str](), 0, 0

    def add(self, text: str) -> None:
        """Add a piece."""
        self._parts.append(text)
        self._size += len(text)
        if len(self._parts) > PIECES or self._size > 2 * KEPT:
            self._cut()

    def text(self) -> str:
        """Return it, after a line that says what is left out."""
        return tail("".join(self._parts), KEPT, self._dropped)

    def _cut(self) -> None:
        whole = "".join(self._parts)
        self._dropped += max(0, len(whole) - KEPT)
        self._parts = [whole[-KEPT:]]
        self._size = len(self._parts[0])


class Command:
    """A command that was begun."""

    def __init__(self, wanted: RunCommand, cwd: str, by: str | None, shown: str) -> None:
        """`shown` is the command without secrets."""
        self.id, self.by, self.begun = wanted.id or new_id(), by, now()
        self.wanted, self.cwd, self.shown = wanted, cwd, shown
        self.stopped = False
        self.result: CommandResult | None = None
        self.pieces = deque[OutputPiece]()
        self._order, self._size = 0, 0
        self._said: dict[Name, _Tail] = {"stdout": _Tail(), "stderr": _Tail()}
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()

    @property
    def state(self) -> CommandState:
        """Its state now."""
        return CommandState(
            id=self.id,
            command=self.shown,
            cwd=self.cwd,
            timeout=self.wanted.timeout,
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

    async def output(self, after: int, wait: float) -> CommandOutput:
        """Return the pieces of its output after one; if there are none, wait for `wait` seconds or its end."""
        with anyio.move_on_after(wait):
            while self._order <= after and self.result is None:
                await self._changed.wait()
        return CommandOutput(tuple(piece for piece in self.pieces if piece.order > after), self.result)

    async def run(
        self, place: Place, mask: Callable[[], Mask], told: Callable[[CommandResult], Awaitable[None]]
    ) -> None:
        """Run it to its end. Cancelling ends it, and it has a result even then: `told` gets it before it is visible."""
        begun = time.monotonic()
        code, ended, timed_out = TIMED_OUT, False, False
        try:
            with self._scope:
                with anyio.move_on_after(self.wanted.timeout) as limit:
                    code = await self._run(place, mask, limit)
                    ended = True
                timed_out = limit.cancelled_caught
        except Exception as error:  # whatever the place raises ends this command, and nothing else
            self._add("stderr", f"it cannot be run: {getattr(error, 'strerror', None) or error}\n")
            code, ended = 127, True
        finally:
            result = CommandResult(
                command=self.shown,
                exit_code=code if ended or timed_out else 128 + signal.SIGTERM,
                stdout=self._said["stdout"].text(),
                stderr=self._said["stderr"].text(),
                timeout_occurred=timed_out,
                duration=round(time.monotonic() - begun, 3),
            )
            with anyio.CancelScope(shield=True):
                await told(result)
            self._end(result)

    def give_up(self, why: str) -> None:
        """Have it ended without having begun."""
        self._end(CommandResult(command=self.shown, exit_code=127, stdout="", stderr=why))

    @property
    def size(self) -> int:
        """Number of characters of output that it has."""
        return self._size + (len(self.result.stdout) + len(self.result.stderr) if self.result is not None else 0)

    def _end(self, result: CommandResult) -> None:
        self.result = result
        self._said.clear()
        self._tell()

    async def _run(self, place: Place, mask: Callable[[], Mask], limit: anyio.CancelScope) -> int:
        await place.facts()  # what has to start first may take long, and is not shielded
        await place.prepare()
        code = TIMED_OUT
        with anyio.CancelScope(shield=True) as scope:
            process = await place.run(
                ["bash", "-c", self.wanted.command],
                cwd=self.cwd,
                env=environment(place.variables, mask().text),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
            )
            try:
                scope.shield = False  # not earlier, or it may run without anybody having its handle
                async with anyio.create_task_group() as readers:
                    readers.start_soon(self._read, "stdout", process.stdout, mask)
                    readers.start_soon(self._read, "stderr", process.stderr, mask)
                    code = await process.wait()
                    limit.deadline = inf
                    readers.cancel_scope.deadline = anyio.current_time() + _GRACE
            finally:
                scope.shield = True
                if process.returncode is None:
                    await process.end()
                process.close_pipes()
        return code if code >= 0 else 128 - code

    async def _read(self, name: Name, stream: ByteReceiveStream | None, mask: Callable[[], Mask]) -> None:
        assert stream is not None
        decoder, masked = codecs.getincrementaldecoder("utf-8")("replace"), CurrentMask(mask)
        try:
            with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
                while data := await stream.receive(_PIECE):
                    self._add(name, masked.feed(decoder.decode(data)))
        finally:  # also when its time has come
            self._add(name, masked.feed(decoder.decode(b"", True)) + masked.flush())

    def _add(self, name: Name, text: str) -> None:
        if not text:
            return
        self._order += 1
        self._said[name].add(text)
        self.pieces.append(OutputPiece(order=self._order, name=name, text=text))
        self._size += len(text)
        while len(self.pieces) > PIECES or (self._size > KEPT and len(self.pieces) > 1):
            self._size -= len(self.pieces.popleft().text)
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


Begins = Callable[[Command], Awaitable[None]]
"""Is told of a command before it begins."""

Ended = Callable[[Command, CommandResult], Awaitable[None]]
"""Is told of the result of a command before others see it."""


async def untold(*_: object) -> None:
    """Tell nobody."""


class Commands:
    """The commands in a place. Each is a task of its own; the last ones that have ended are remembered."""

    def __init__(
        self,
        place: Place,
        start_soon: StartSoon,
        mark: str,
        mask: Callable[[], Mask] = Mask,
        begins: Begins = untold,
        ended: Ended = untold,
    ) -> None:
        """`mark` is that of the place's processes. `begins` is told of a command before it begins; if that raises, it
        does not.
        """
        self.place, self._start_soon, self._mask = place, start_soon, mask
        self._mark, self._begins, self._ended = mark, begins, ended
        self._known: dict[str, Command] = {}
        self._closed = False

    async def start(self, wanted: RunCommand, by: str | None = None) -> Command:
        """Begin a command. Raises `WorkspaceError` if too many run, and what `begins` raises."""
        if (known := self._known.get(wanted.id)) is not None:
            return known
        if self._closed or self.running >= MOST_RUNNING:
            raise WorkspaceError("too-many-commands", f"{MOST_RUNNING} run already: stop one first")
        root = self.place.workspace.path
        cwd = wanted.cwd if wanted.cwd.startswith("/") else f"{root}/{wanted.cwd}".rstrip("/")
        command = Command(wanted, cwd or "/", by, self._mask().text(wanted.command))
        self._known[command.id] = command
        try:
            with anyio.CancelScope(shield=True):  # what is logged as begun must end
                await self._begins(command)
        except BaseException as error:
            del self._known[command.id]
            command.give_up(str(error))
            raise

        self._start_soon(partial(command.run, self.place, self._mask, partial(self._ended, command)))
        self._forget()
        return command

    def _forget(self) -> None:
        """Forget the oldest commands that have ended, if there are too many or they have too much output."""
        ended, size = 0, 0
        for command in reversed(list(self._known.values())):
            if command.result is not None:
                ended, size = ended + 1, size + command.size
                if ended > REMEMBERED or (size > REMEMBERED_SIZE and ended > 1):
                    del self._known[command.id]

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

    @property
    def supports_pause(self) -> bool:
        """Whether the place can be paused."""
        return self.place.supports_pause

    async def pause(self) -> None:
        """Pause all that runs in the place, the agent's tools too. Raises `ToolError`."""
        await self.place.pause()

    async def resume(self) -> None:
        """Let all that runs in the place go on. Raises `ToolError`."""
        await self.place.resume()

    async def close(self) -> None:
        """End all that runs, with what earlier commands have left in the background, and begin nothing more."""
        self._closed = True
        for command in self._known.values():
            command.stop()
        for command in list(self._known.values()):
            await command.wait()
        if self._known:
            await self.place.end_left(self._mark)


class LocalPlaceEnd:
    """The `PlaceEnd` of commands in this process. `using` provides them, on behalf of the principal `by`."""

    def __init__(self, using: Callable[[], AbstractAsyncContextManager[Commands]], by: str | None = None) -> None:
        self._using, self._by = using, by

    async def start(self, wanted: RunCommand) -> CommandState:
        """Begin a command. Raises `WorkspaceError`."""
        async with self._using() as commands:
            return (await commands.start(wanted, self._by)).state

    async def state(self, command: str) -> CommandState:
        """Return a command as it is now. Raises `WorkspaceError`."""
        async with self._using() as commands:
            return commands.named(command).state

    async def output(self, command: str, after: int, wait: float) -> CommandOutput:
        """Return the pieces of a command's output after one; if there are none, wait for `wait` seconds.

        Raises `WorkspaceError`.
        """
        async with self._using() as commands:
            found = commands.named(command)
        return await found.output(after, wait)

    async def stop(self, command: str) -> CommandState:
        """End a command with all that it started. Raises `WorkspaceError`."""
        async with self._using() as commands:
            found = commands.named(command)
        found.stop()
        await found.wait()
        return found.state

    async def commands(self) -> tuple[CommandState, ...]:
        """Return the commands that run, and the last ones that have ended."""
        async with self._using() as commands:
            return commands.list()

    async def supports_pause(self) -> bool:
        """Return whether all that runs there can be paused."""
        async with self._using() as commands:
            return commands.supports_pause

    async def pause(self) -> None:
        """Stop all that runs there, until `resume`. Raises `ToolError`."""
        async with self._using() as commands:
            await commands.pause()

    async def resume(self) -> None:
        """Let all that runs there go on. Raises `ToolError`."""
        async with self._using() as commands:
            await commands.resume()
