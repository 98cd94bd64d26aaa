"""`Shell`: a persistent bash, on any `Console`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import termios
import time
from collections.abc import Callable, Mapping

import anyio

from ..errors import ToolError
from .console import Console
from .lending import Loan
from .markers import Ended, Markers
from .processes import TERM_AFTER
from .prompting import ASKED, SET_UP, SETTLED, asking_line, command_line, may_be_unclosed

START_SECONDS = 10.0
"""Seconds within which bash must be ready."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

CUT = 128 + signal.SIGINT
"""The exit code of a line that C-c cut."""

AFTER_C_C = 1.0
"""Seconds to wait, after C-c or a question, for bash to report that it is at its prompt."""

TRIES = 3
"""Maximum number of times that bash is asked whether it is at its prompt, with C-c in between."""

KEPT = 16 * 1024 * 1024
"""Bytes of a command's output that are kept: the first and the last half. The last one is trimmed once it is 50% over.
"""


class Shell:
    """A bash process, which keeps its directory, variables and background jobs from command to command."""

    def __init__(self, console: Console, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)
        self.running = False
        self.last_change = 0.0
        """Time of the running command's last output, or of its start (`time.monotonic`)."""
        self._console = console
        self._token = secrets.token_hex(8)
        self._markers = Markers(self._token)
        self._output = Output()
        self._ended: Ended | None = None
        self._loan: Loan | None = None
        self._changed = asyncio.Event()
        self._calls = 0
        self._any_prompt = True
        """Whether the next prompt ends the command even if it had not begun: at the start, and after an interrupt."""
        self._typed = False
        """Whether the terminal may contain half a line that the last command has not read."""
        self._cut = False
        """Whether the last line was not run to its end, so that bash may still have the rest of it."""
        self._answer = asyncio.Event()
        """Set when bash answers that it is at its prompt, or has ended."""
        self._due: int | None = None
        """Exit code in the prompt that follows the last end and has not come yet; it does not end the next command."""
        self._launched = False
        self._settled = True
        """Whether the console was told that the last command has ended."""
        self._on_output: Callable[[bytes], None] = lambda data: None

    async def start(self) -> None:
        """Start bash. Raises `ToolError` if it does not start."""
        try:
            await self._console.prepare(self._files)
            await self._launch()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self.close()
            if isinstance(error, OSError):
                raise ToolError(f"a shell cannot start in {self.directory}: {error.strerror or error}") from error
            raise

    async def _launch(self) -> None:
        scratch = self._console.scratch
        self._command, self._ask = scratch / "command", asking_line(scratch).encode()
        self.running = True
        await self._console.start(self._token, self.directory, scratch / "start", self._hear)
        self._launched = True
        with anyio.move_on_after(START_SECONDS):
            while self.running:
                await self.wait(None)
        self._cut = False  # no line was typed before the first prompt
        if not self.alive or self.running:
            raise ToolError(f"bash did not start within {START_SECONDS:.0f} s")

    @property
    def _files(self) -> dict[str, str]:
        """The files that bash reads, besides the command."""
        scripts = {"start": SET_UP, "settled": SETTLED, "asked": ASKED}
        return {name: script.replace("TOKEN", self._token) for name, script in scripts.items()}

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        return self._console.alive

    async def at_work(self) -> bool:
        """Return whether a command or a background job is running."""
        return self.alive and (self.running or await self._console.busy())

    async def processes(self, most: int) -> int:
        """Return the number of processes below bash, counted up to `most`."""
        return await self._console.processes(most)

    async def begin(
        self, command: str, on_output: Callable[[bytes], None], secrets: Mapping[str, str] | None = None
    ) -> None:
        """Start a command; none may be running. Only this command has `secrets` as environment variables.

        Raises `ToolError` if the shell is gone or does not answer.
        """
        if self._cut:
            await self._reach()
        self._calls += 1
        self._output, self._ended = Output(), None
        self._on_output = on_output
        await self._console.begin()
        await self._console.store("command", f"{command}\n")
        self._take_back()
        self._loan = self._console.lend(secrets) if secrets else None
        loan = self._loan.path if self._loan is not None else ""
        gone = [name for name in self._console.take_back() if _NAME.fullmatch(name)]
        self.running, self._any_prompt, self._settled = True, False, False
        self.last_change = time.monotonic()
        call, checked = f"{self._token}-{self._calls}", may_be_unclosed(command)
        line = command_line(self._console.scratch, call, loan, gone, checked)
        await self._send(("\n" + line if self._typed else line).encode())
        self._typed = False

    async def _reach(self) -> None:
        """Make bash report that it waits for a command.

        If C-c interrupts bash while it parses a line, bash drops the part that it has parsed, and takes the rest that
        it has read as its next line. That may contain an open quote, or run the command. Raises `ToolError` if the
        shell is gone or does not answer.
        """
        with contextlib.suppress(OSError, termios.error):
            self._console.forget_input()
        for _ in range(TRIES):
            self._answer.clear()
            await self._send(b"\n" + self._ask)
            with anyio.move_on_after(AFTER_C_C):
                await self._answer.wait()
                self._typed = self._cut = False
                return
            await self._send(b"\x03")
        raise ToolError("the shell does not answer: restart it")

    async def wait(self, seconds: float | None) -> Ended | None:
        """Wait until the command ends or prints, at most `seconds`; return its end if it has ended."""
        if self.running:
            self._changed.clear()
            with anyio.move_on_after(seconds if seconds is not None else float("inf")):
                await self._changed.wait()
        if self._launched and not self.running and self._ended is None:
            self._ended = Ended(await self._console.exit_code(), self.directory)
        if self._ended is not None and not self._settled:
            self._settled = True
            await self._console.settle()
        return self._ended

    async def send(self, data: bytes) -> None:
        """Type input for the command. Raises `ToolError` if the shell is gone or the command does not take it all."""
        self._typed = True
        await self._send(data)

    async def _send(self, data: bytes) -> None:
        try:
            taken = await self._console.send(data)
        except OSError as error:
            raise ToolError(f"the shell cannot take input: {error.strerror or error}") from error
        if taken < len(data):
            raise ToolError(f"the command does not read its input: it was given {taken} of {len(data)} bytes")

    def take(self) -> bytes:
        """Return what the command has printed since the last call."""
        shown, command = self._output.take(), os.fsencode(self._command)
        if self._ask.strip() in shown:
            shown = shown.replace(self._ask.strip(), b"")
        if command in shown:
            shown = shown.replace(b"bash: " + command + b": ", b"bash: ").replace(command + b": line ", b"bash: line ")
        return shown

    async def cut(self) -> None:
        """Type C-c. If bash is at its prompt then, it reports so, even if the command has changed the prompt."""
        self._any_prompt = True
        await self.send(b"\x03")
        await self._prompted(AFTER_C_C)

    async def _prompted(self, seconds: float) -> None:
        """Wait for the end that C-c causes; if the prompt does not report it within `seconds`, ask bash."""
        with anyio.move_on_after(seconds):
            while self.running:
                await self.wait(None)
        if self.running and self.alive and await self._console.at_prompt():
            await self._send(b"\n" + self._ask)

    async def adopt(self) -> None:
        """Continue with the bash that has replaced the first one, if the running command did so (`exec bash`)."""
        if self.running and self.alive and await self._console.replaced():
            self._any_prompt = True
            await self._send(self._ask)

    async def interrupt(self) -> tuple[str, ...]:
        """End the running command and all that it started. Return the signals that were needed."""
        sent = ["SIGINT"]
        if not self._launched:
            return ()
        if self.alive and self.running:
            self._any_prompt = True
            with contextlib.suppress(OSError, termios.error, ToolError):
                self._console.forget_input()
                await self.send(b"\x03")
            await self._prompted(TERM_AFTER)
        sent += await self._console.end(f"{self._token}-{self._calls}")
        with anyio.move_on_after(0.5):
            while self.running and self.alive:
                await self.wait(None)
        return tuple(sent)

    async def close(self) -> None:
        """End bash and all that it started."""
        self._take_back()
        await self._console.close()
        self.running = False

    def _take_back(self) -> None:
        if self._loan is not None:
            self._loan.close()
            self._loan = None

    def _hear(self, data: bytes) -> None:
        if not data:
            self._take_back()
            self.running = False
            self._answer.set()  # wakes `_reach`; what is typed next fails
        for found in self._markers.feed(data):
            if isinstance(found, Ended):
                if self._ends(found):
                    self._ended, self.directory, self.running = found, found.directory, False
                    self._cut = found.prompt or found.call is None
                    self._take_back()
            else:
                self._output.add(found)
                self._on_output(found)
        self.last_change = time.monotonic()
        self._changed.set()

    def _ends(self, end: Ended) -> bool:
        """Return whether this is the end of the running command, not that of an earlier one which is reported late."""
        if end.call is None:
            self._due = end.exit_code
            self._answer.set()
        if end.call == self._calls:
            self._due = None if end.prompt else end.exit_code
            return self.running
        if not self.running:
            return False
        if end.call is None:
            return end.begun or self._any_prompt
        due, self._due = self._due, None if end.prompt else self._due
        if end.prompt and due is not None and (end.exit_code != CUT or due == CUT):
            return False  # the prompt that was due, not the one that C-c causes instead
        return self._any_prompt


class Output:
    """The output of a command since the last `take`: all of it up to `KEPT` bytes, else its beginning and its end."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def __len__(self) -> int:
        """Return the number of bytes that are held."""
        return len(self._head) + len(self._tail)

    def add(self, data: bytes) -> None:
        """Add more output."""
        room = KEPT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - KEPT // 2
        if over > KEPT // 4:
            del self._tail[:over]
            self._dropped += over

    def take(self) -> bytes:
        """Return and forget the output, with a note in place of the bytes that were dropped."""
        gap = f"\n[{self._dropped} bytes were not kept]\n".encode() if self._dropped else b""
        taken = bytes(self._head + gap + self._tail)
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
        return taken
