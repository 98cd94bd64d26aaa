"""`MemoryConsole`: a terminal of a place in memory. Its shell knows the programs of the place, and nothing of bash."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from .console import Heard

if TYPE_CHECKING:
    from .in_memory import InMemory, MemoryProcess

_BEGINS = re.compile(r"__agentrt_begin (\S+) ")
"""The call that a line of `prompting.command_line` begins."""

_ASKED = re.compile(r" \\builtin \. '\S*/asked'")
"""The line of `prompting.asking_line`."""

MISSING = 127
"""Exit code of a line whose first word is no program."""


class _NoLoan:
    """Variables that the next command has. They are never in a file."""

    path = ""

    def __init__(self, drop: Callable[[], None]) -> None:
        self.close = drop


class MemoryConsole:
    """A `Console`. A command is one program with its words; what it prints on either stream is shown."""

    def __init__(self, place: InMemory, start_soon: Callable[..., object]) -> None:
        self._place, self._start_soon = place, start_soon
        self._files, self._lent = dict[str, str](), dict[str, str]()
        self._token = self._directory = self._rest = ""
        self._heard: Heard = lambda data: None
        self._running: MemoryProcess | None = None
        self.alive, self._code, self._cut = False, 0, False
        self.scratch = PurePath("/scratch")

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Keep the files."""
        await anyio.lowlevel.checkpoint()
        self._files.update(files)

    async def store(self, name: str, text: str) -> None:
        """Keep a file."""
        await anyio.lowlevel.checkpoint()
        self._files[name] = text

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        """Show the first prompt."""
        await anyio.lowlevel.checkpoint()
        self._token, self._directory, self._heard, self.alive = token, directory, heard, True
        self._says("", ";")

    def take_back(self) -> Collection[str]:
        """Return none."""
        return ()

    async def begin(self) -> None:
        """Do nothing: a command ends with all that it has started."""
        await anyio.lowlevel.checkpoint()

    async def send(self, data: bytes) -> int:
        """Type lines for the shell, or input for the program that runs. Raises `OSError`."""
        await anyio.lowlevel.checkpoint()
        if not self.alive:
            raise OSError(5, "Input/output error")
        if data == b"\x03":
            await self._interrupt()
        elif self._running is not None and self._running.stdin is not None:
            await self._running.stdin.send(data)
        else:
            *lines, self._rest = (self._rest + data.decode()).split("\n")
            for line in lines:
                self._read(line)
        return len(data)

    def forget_input(self) -> None:
        """Drop half a line."""
        self._rest = ""

    def lend(self, variables: Mapping[str, str]) -> _NoLoan:
        """Return a loan of variables to the next command."""
        self._lent = dict(variables)
        return _NoLoan(self._lent.clear)

    async def busy(self) -> bool:
        """Return whether a program runs."""
        return self._running is not None

    async def at_prompt(self) -> bool:
        """Return whether none does."""
        return self._running is None

    async def replaced(self) -> bool:
        """Return False: nothing replaces the shell."""
        return False

    async def processes(self, most: int) -> int:
        """Return the number of programs that run."""
        return int(self._running is not None)

    async def end(self, call: str) -> tuple[str, ...]:
        """End the program that runs."""
        if self._running is None:
            return ()
        await self._interrupt()
        return ("SIGTERM",)

    async def settle(self) -> None:
        """Do nothing."""

    async def exit_code(self) -> int:
        """Return the last exit code."""
        return self._code

    async def close(self) -> None:
        """End the program that runs, and hang up."""
        if self._running is not None:
            await self._running.end()
        if self.alive:
            self.alive = False
            self._heard(b"")

    async def _interrupt(self) -> None:
        if self._running is not None:
            self._cut = True
            await self._running.end()

    def _read(self, line: str) -> None:
        if (begins := _BEGINS.search(line)) is not None:
            self._start_soon(partial(self._run, begins[1].removeprefix(self._token), self._files["command"]))
        elif _ASKED.match(line):
            self._says("", ":")

    async def _run(self, call: str, command: str) -> None:
        """Run a command, show what it prints, and say how it has ended."""
        self._heard(f"\x1e{self._token}{call}>\x1f".encode())
        self._cut = False
        try:
            words = shlex.split(command)
            self._running = await self._place.run(words or [":"], cwd=self._directory, env=self._lent)
        except (OSError, ValueError) as error:
            self._code = MISSING
            self._heard(f"{command.split()[0] if command.split() else ''}: {error}\n".encode())
        else:
            await self._shown(self._running)
        if self.alive:
            if not self._cut:
                self._says(call, ":")
            self._says(call, ";")

    async def _shown(self, running: MemoryProcess) -> None:
        async def show(stream: Any) -> None:
            async for piece in stream:
                self._heard(piece)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(show, running.stdout)
                tasks.start_soon(show, running.stderr)
            code = await running.wait()
            self._code = code if code >= 0 else 130
        finally:
            self._running = None
            running.close_pipes()

    def _says(self, call: str, mark: str) -> None:
        self._heard(f"\x1e{self._token}{call}{mark}{self._code}:{self._directory}\x1f".encode())
